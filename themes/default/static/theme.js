// Comforts; everything can be read and reached without this file.
(() => {
	const text = document.currentScript.dataset;
	const page = document.documentElement;
	const all = (css) => [...document.querySelectorAll(css)];

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
	function copy(pre) {
		if (navigator.clipboard) return navigator.clipboard.writeText(pre.textContent);
		getSelection().selectAllChildren(pre);
		document.execCommand("copy");
		getSelection().removeAllRanges();
	}

	function dress() {
		for (const pre of all("article pre")) {
			const box = document.createElement("div");
			const button = document.createElement("button");
			const say = (word) => (button.textContent = word);
			button.type = "button";
			say(text.copy);
			button.onclick = async () => {
				await copy(pre);
				say(text.copied);
				setTimeout(say, 2000, text.copy);
			};
			box.className = "copyable";
			pre.replaceWith(box);
			box.append(pre, button);
		}

		const toc = new Map(all(".contents a").map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
		const marks = all("article [id]").filter((one) => toc.has(one.id));
		const watch = new IntersectionObserver(() => {
			const here = marks.findLast((one) => one.getBoundingClientRect().top < 130) || marks[0];
			toc.forEach((a, id) => a.classList.toggle("here", id === here.id));
		}, { rootMargin: "-120px 0px 0px" });
		marks.forEach((one) => watch.observe(one));
	}

	dress();
	// A preview brings a new text.
	addEventListener("wikisync:article", dress);

	addEventListener("keydown", (event) => {
		if (event.key === "Escape") all("#siteNav").map((box) => (box.checked = false));
		const field = all("[name=q]").find((it) => it.offsetParent);
		if (event.key !== "/" || !field || event.target.closest("input, select")) return;
		event.preventDefault();
		field.select();
	});

	for (const field of all("[data-filter]")) {
		field.oninput = () => {
			const wanted = field.value.toLowerCase();
			all(field.dataset.filter).map((it) => (it.hidden = !it.textContent.toLowerCase().includes(wanted)));
		};
	}
})();
