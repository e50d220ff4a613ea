// Comforts: all works without them.
(() => {
const text = document.currentScript.dataset;
const mode = document.documentElement.dataset;
const all = (css) => [...document.querySelectorAll(css)];

for (const button of all("[data-mode]")) button.onclick = () => {
	const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
	mode.theme = (mode.theme || (isDark && "dark")) === "dark" ? "light" : "dark";
	try {
		localStorage["wikisync-theme"] = mode.theme;
	} catch {} // for this page
};

// The clipboard needs https.
function copy(pre) {
	if (navigator.clipboard) return navigator.clipboard.writeText(pre.textContent);
	getSelection().selectAllChildren(pre);
	document.execCommand("copy");
	getSelection().removeAllRanges();
}

// Scrolls the list alone to an entry.
function show(entry) {
	const list = entry.closest(".site-nav, .contents");
	const [at, box] = [entry, list].map((it) => it.getBoundingClientRect());
	if (at.top < box.top || at.bottom > box.bottom) list.scrollTop += at.top - box.top - box.height / 2;
}

const showPage = () => all(".site-nav [aria-current]").map(show);

function dress() {
	showPage();
	for (const pre of all("article pre")) {
		const [box, button] = ["div", "button"].map((tag) => document.createElement(tag));
		const say = (word) => (button.textContent = word);
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
	const marks = all("article [id]").filter((it) => toc.has(it.id));
	const watch = new IntersectionObserver(() => {
		const here = marks.findLast((it) => it.getBoundingClientRect().top < 130) || marks[0];
		toc.forEach((a, id) => a.classList.toggle("here", id === here.id) && show(a));
	}, { rootMargin: "-120px 0px 0px" });
	marks.forEach((it) => watch.observe(it));
}

dress();
// A preview's new text.
addEventListener("wikisync:article", dress);
onchange = showPage; // the menu

onkeydown = (event) => {
	if (event.key === "Escape") all(".menu-box").map((box) => (box.checked = false));
	const field = all("input[name=q]").find((it) => it.offsetParent);
	if (!field || (event.ctrlKey ? event.key !== "k" : event.key !== "/" || event.target.closest("input, select"))) return;
	event.preventDefault();
	field.select();
};

for (const field of all("[data-filter]"))
	field.oninput = () => {
		const wanted = field.value.toLowerCase();
		all(field.dataset.filter).map((it) => (it.hidden = !it.textContent.toLowerCase().includes(wanted)));
	};
})();
