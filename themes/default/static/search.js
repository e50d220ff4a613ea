// Where one types a query; what finds it comes with the first one.
(() => {
const { src, dataset: text } = document.currentScript;
const loaded = {};
window.wikisync_search = (name, value) => (loaded[name] = value);
const load = (name, src) =>
	new Promise((resolve, onerror) => {
		const onload = () => resolve(loaded[name]);
		document.head.append(make("script", "", { src, onload, onerror }));
	});
let found;
const find = () => (found ??= load("find", text.find).then((it) => it(new URL("../../", src), text, make, load)));

function make(tag, content = "", rest) {
	const node = Object.assign(document.createElement(tag), rest);
	node.append(...[content].flat());
	return node;
}

function searchIn(field, note, ...rest) {
	let search;
	return async () => {
		try {
			search ??= find().then((it) => it.searchIn(field, note, near, ...rest));
			await (await search)();
		} catch {
			note.textContent = text.failed;
		}
	};
}

const form = document.querySelector(".search-page");
let near = document.querySelector(".wiki-name")?.textContent;
if (form) {
	const { q, wiki } = form, asked = new URLSearchParams(location.search);
	near = asked.get("near");
	const search = (form.oninput = searchIn(q, ...document.querySelectorAll("[data-search]"), 10));
	form.onsubmit = () => false;
	q.value = asked.get("q") || "";
	q.focus();
	search();
	if (wiki) find().then((it) => it.load("index")).then(({ wikis }) => wikis.map((it) => wiki.append(new Option(...it))));
}

// What led here is marked.
let asked;
try {
	asked = sessionStorage["wikisync-mark"];
	sessionStorage.removeItem("wikisync-mark");
	addEventListener("click", ({ target }) => {
		const list = target.closest("a") && target.closest("[data-marks]");
		if (list) sessionStorage["wikisync-mark"] = list.dataset.marks;
	});
} catch {} // without storage: no marks
if (asked) find().then(({ mark }) => mark(asked), () => {});

const box = document.querySelector("form.search");
if (box) {
	const list = make("ol"), note = make("p", "", { role: "status" });
	const hits = make("div", [note, list], { className: "hits", hidden: true, tabIndex: -1 });
	box.append(hits);
	if (near) box.append(make("input", "", { type: "hidden", name: "near", value: near }));
	const search = searchIn(box.q, note, list, 6);
	box.oninput = async () => {
		await search();
		hits.hidden = !note.textContent;
	};
	box.onfocusout = (event) => (hits.hidden ||= !box.contains(event.relatedTarget));
	box.onkeydown = (event) => {
		const stops = [box.q, ...list.querySelectorAll("a")];
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === "Escape") hits.hidden = !box.q.focus();
		if (!step) return;
		stops.at((stops.indexOf(document.activeElement) + step) % stops.length).focus();
		return false;
	};
}
})();
