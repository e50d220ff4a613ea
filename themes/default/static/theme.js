// Comforts; everything can be read and reached without this file.
(() => {
	const text = document.currentScript.dataset;
	const page = document.documentElement;
	const all = (selector) => [...document.querySelectorAll(selector)];

	document.getElementById("siteTheme")?.addEventListener("click", () => {
		const now = page.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
		page.dataset.theme = now === "dark" ? "light" : "dark";
		try {
			localStorage.setItem("wikisync-theme", page.dataset.theme);
		} catch {
			// Storage is switched off: the choice holds for this page.
		}
	});

	// navigator.clipboard exists on https alone; the old way works anywhere.
	function copy(block) {
		if (navigator.clipboard) return navigator.clipboard.writeText(block.textContent);
		getSelection().selectAllChildren(block);
		document.execCommand("copy");
		getSelection().removeAllRanges();
	}

	function dressArticle() {
		for (const block of all("article pre")) {
			const frame = document.createElement("div");
			const button = document.createElement("button");
			Object.assign(button, { type: "button", textContent: text.copy });
			button.onclick = async () => {
				await copy(block);
				button.textContent = text.copied;
				setTimeout(() => (button.textContent = text.copy), 2000);
			};
			frame.className = "copyable";
			block.replaceWith(frame);
			frame.append(block, button);
		}

		const links = new Map(all(".contents a").map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
		const headings = all("article [id]").filter((heading) => links.has(heading.id));
		const watcher = new IntersectionObserver(() => {
			const here = headings.findLast((heading) => heading.getBoundingClientRect().top < 130) || headings[0];
			links.forEach((link, id) => link.classList.toggle("here", id === here.id));
		}, { rootMargin: "-120px 0px 0px" });
		headings.forEach((heading) => watcher.observe(heading));
	}

	dressArticle();
	// A preview replaces the text of a page that was saved.
	document.addEventListener("wikisync:article", dressArticle);

	addEventListener("keydown", (event) => {
		if (event.key === "Escape") all("#siteNav").map((box) => (box.checked = false));
		const field = all("[name=q]").find((input) => input.offsetParent);
		if (event.key !== "/" || !field || event.target.closest("input, select")) return;
		event.preventDefault();
		field.select();
	});

	for (const field of all("[data-filter]")) {
		field.oninput = () => {
			const wanted = field.value.toLowerCase();
			all(field.dataset.filter).map((item) => (item.hidden = !item.textContent.toLowerCase().includes(wanted)));
		};
	}
})();
