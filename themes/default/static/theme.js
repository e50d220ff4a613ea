// All works without it.
(() => {
const text = document.currentScript.dataset;
const { classList, dataset: mode } = document.documentElement;
const all = (css) => [...document.querySelectorAll(css)];

// As in the head, where a server's own policy lets no script be.
classList.add("js");
try {
	const kept = localStorage["wikisync-theme"];
	if (kept) mode.theme = kept;
} catch {} // the system's

for (const button of all("[data-mode]")) button.onclick = () => {
	const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
	mode.theme = (mode.theme || (isDark && "dark")) === "dark" ? "light" : "dark";
	try {
		localStorage["wikisync-theme"] = mode.theme;
	} catch {} // for this page
};

const make = (tag) => document.createElement(tag);

function press(word, onclick) {
	return Object.assign(make("button"), { type: "button", textContent: word, onclick });
}

// What the reader folded.
function saved(key, value) {
	try {
		return value === undefined ? sessionStorage[key] : (sessionStorage[key] = value);
	} catch {} // for this page
}

// Its address may be nonsense.
function named(link) {
	try {
		return document.getElementById(decodeURIComponent(link.hash.slice(1)));
	} catch {}
}

function enlarge(img) {
	const box = make("dialog");
	const own = Object.assign(make("img"), { src: img.src, alt: img.alt, tabIndex: 0 });
	box.append(own);
	box.onclick = () => box.close();
	box.onclose = () => box.remove();
	document.body.append(box);
	box.showModal();
}

// All are measured first: a change costs a layout.
const isWide = (box) => [box, box.scrollWidth > box.clientWidth];

// Its head stays in view.
const fit = () => all(".table-wrap").map(isWide).map(([box, wide]) => box.classList.toggle("fits", !wide));

// The clipboard needs https.
function copy(pre) {
	if (navigator.clipboard) return navigator.clipboard.writeText(pre.textContent);
	getSelection().selectAllChildren(pre);
	document.execCommand("copy");
	getSelection().removeAllRanges();
}

// The list alone scrolls.
function show(entry) {
	const list = entry.closest(".site-nav, .contents");
	const [at, box] = [entry, list].map((it) => it.getBoundingClientRect());
	if (at.top < box.top || at.bottom > box.bottom) list.scrollTop += at.top - box.top - box.height / 2;
}

const showPage = () => all(".site-nav [aria-current]").map(show);

// "3 days ago" is true only now.
const ago = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
const UNITS = [["year", 31536e6], ["month", 2592e6], ["week", 6048e5], ["day", 864e5], ["hour", 36e5], ["minute", 6e4]];
function age(time) {
	const passed = new Date(time.dateTime) - Date.now();
	const [unit, ms] = UNITS.find((it) => it[1] <= -passed) || UNITS.at(-1);
	if (passed < 0) time.after(` (${ago.format(Math.round(passed / ms), unit)})`);
}

let watch;

function dress() {
	all("time[title]").map(age);
	showPage();
	for (const [pre, wide] of all("article pre:not(.copyable > *)").map(isWide)) {
		const [box, tools] = ["div", "div"].map(make);
		box.className = "copyable";
		tools.className = "tools";
		pre.replaceWith(box);
		box.append(pre, tools);
		if (wide) tools.append(press(text.wrap, () => pre.classList.toggle("wrap")));
		const button = press(text.copy, async () => {
			await copy(pre);
			button.textContent = text.copied;
			setTimeout(() => (button.textContent = text.copy), 2000);
		});
		tools.append(button);
	}
	for (const img of all("article img[alt]:not([alt=''], a:not(.picture) img)")) {
		const link = img.closest("a");
		const look = () => {
			if (img.naturalWidth < img.clientWidth * 1.2) return;
			img.className += " zoom";
			if (link) return (link.onclick = (it) => it.ctrlKey || it.metaKey || it.shiftKey || enlarge(img) || false);
			Object.assign(img, { role: "button", tabIndex: 0 });
			img.onclick = () => enlarge(img);
			img.onkeydown = ({ key }) => !/^( |Enter)$/.test(key) || enlarge(img) || false;
		};
		img.complete ? look() : (img.onload = look);
	}
	for (const link of all("article sup a[href^='#']")) {
		const note = named(link);
		if (!note?.closest("li, #footnotes, .footdef, .footnotes") || link.nextSibling?.className === "peek") continue;
		const peek = make("span");
		peek.className = "peek";
		peek.ariaHidden = true;
		peek.textContent = note.textContent.replace(/^\s*\d+\.?\s|\u21a9.*$/gs, "").trim();
		link.after(peek);
	}
	fit();
	for (const box of all(".sidebar details")) {
		const key = "fold " + (box.firstChild.ariaLabel || box.firstChild.textContent);
		box.open = !saved(key);
		box.ontoggle = () => saved(key, box.open ? "" : "1");
	}

	const toc = new Map(all(".contents a").map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
	const marks = all("article [id]").filter((it) => toc.has(it.id));
	watch?.disconnect();
	watch = new IntersectionObserver(() => {
		const here = marks.findLast((it) => it.getBoundingClientRect().top < 130) || marks[0];
		toc.forEach((a, id) => a.classList.toggle("here", id === here.id) && show(a));
	}, { rootMargin: "-120px 0px 0px" });
	marks.forEach((it) => watch.observe(it));
}

dress();
// A preview's new text.
addEventListener("wikisync:article", dress);
onchange = showPage; // the menu
onresize = fit;

onkeydown = (event) => {
	if (event.key === "Enter" && event.target.matches("#siteNav, #siteToc")) event.target.click();
	if (event.key === "Escape") all(".menu-box").map((box) => (box.checked = false));
	if (event.ctrlKey ? event.key !== "k" : event.key !== "/" || event.target.closest("input, select")) return;
	// this lays out the page
	const field = all("input[name=q]").find((it) => it.offsetParent);
	if (!field) return;
	event.preventDefault();
	field.select();
};

for (const field of all("[data-filter]"))
	field.oninput = () => {
		const wanted = field.value.toLowerCase();
		all(field.dataset.filter).map((it) => (it.hidden = !it.textContent.toLowerCase().includes(wanted)));
	};
})();
