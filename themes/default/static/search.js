// Searches the index of wikisync/site/search.py.
(() => {
const { src, dataset: text } = document.currentScript;
const root = new URL("../../", src);
const loaded = {}, waiting = {};
window.wikisync_search = (name, value) => (loaded[name] = value);

function make(tag, content = "", rest) {
	const node = Object.assign(document.createElement(tag), rest);
	node.append(...[content].flat());
	return node;
}

const load = (name) =>
	(waiting[name] ??= new Promise((resolve, onerror) => {
		document.head.append(make("script", "", { src: new URL(`-/search/${name}.js`, root), onload: () => resolve(loaded[name]), onerror }));
	}));

// As in search.py.
const pairs = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u9fff\uac00-\ud7af\uf900-\ufaff\u{20000}-\u{3ffff}";
const others = `(?:(?![${pairs}])[\\p{L}\\p{N}_\u0900-\u0963\u0966-\u0dff`;
const pattern = RegExp(`[${pairs}]+|${others}])+`, "gu");
const pair = RegExp(`^[${pairs}]`, "u");
const fold = (line) =>
	line.normalize("NFKD").replace(/[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]/g, "").normalize("NFC").toLowerCase();
const wordsOf = (line) =>
	(fold(line).match(pattern) || []).flatMap((word) => {
		const chars = [...word];
		return chars[1] && pair.test(word) ? chars.slice(1).map((it, i) => chars[i] + it) : chars.slice(0, 32).join("");
	});

// A query: tags as the index has them, phrases, and words.
function parse(query) {
	const tags = [], phrases = [];
	const rest = query.replace(/(^|\s)tag:("[^"]*"?|\S+)/gu, (_, gap, tag) => {
		const key = fold(tag.replaceAll('"', "").trim().split(/\s+/).join(" ")).replace(/[^\p{L}\p{N}_]/gu, "_");
		if (key) tags.push("=" + [...key].slice(0, 32).join(""));
		return gap;
	});
	for (const [, phrase] of rest.matchAll(/"([^"]+)"/g)) if (wordsOf(phrase)[0]) phrases.push(wordsOf(phrase).join(" "));
	return { tags, phrases, words: [...new Set(wordsOf(rest))] };
}

// Files with a word, or all that begin with it.
function filesOf(word, isOpen, keys) {
	let whole = "";
	const way = [...word].map((it) => (whole += it < "\x80" ? it : "-" + it.codePointAt().toString(16)));
	const block = "--" + (word.codePointAt() >> 6).toString(16);
	const leaf = keys.filter((key) => key === block || way.includes(key));
	const below = keys.filter((key) => key === whole + "-" || (isOpen && key.startsWith(whole)));
	return (leaf[0] ? leaf : below.slice(0, 9)).map((key) => load("t-" + key));
}

// Scores of documents with a word, or what it was a slip of.
async function lookUp(word, at, words) {
	const isOpen = !words[at + 1] && (word[1] || pair.test(word));
	const { keys } = await load("index");
	const terms = " " + (await Promise.all(filesOf(word, isOpen, keys.split(" ")))).join(" ");
	const having = (pattern) => [...terms.matchAll(` (${pattern}):(\\S+)`)];
	let fit = having(isOpen ? word + "[^:]*" : word);
	if (!fit[0] && word[4] && word[0] !== "=") {
		// one letter wrong, missing or extra, or two swapped
		const slips = [...word].map((it, i, { [i + 1]: next = "" }) => `${word.slice(0, i)}(?:[^:]{0,2}${next}|${next}${it})${word.slice(i + 2)}`);
		fit = having(slips.join("|")).sort((a, b) => b[2].length - a[2].length).slice(0, 1);
		if (fit[0]) words[at] = word = fit[0][1];
	}
	const found = new Map();
	for (const [, term, postings] of fit) {
		let slot = 0;
		for (const [, step, score] of postings.matchAll("(.+?)([A-Z])")) {
			slot += parseInt(step, 36);
			found.set(slot, Math.max(found.get(slot) || 0, (parseInt(score, 36) - 9) * (term === word ? 1 : 0.7)));
		}
	}
	return found;
}

// Documents with most words, best first.
async function find({ words, tags, phrases }, wiki) {
	const { count } = await load("index");
	const scores = new Map();
	for (const found of await Promise.all(words.map(lookUp)))
		found.forEach((score, slot) => scores.set(slot, (scores.get(slot) || 0) + 1000 + score * Math.log(1 + count / found.size)));
	const tagged = await Promise.all(tags.map((tag) => lookUp(tag, 0, [tag, tag])));
	if (!words[0]) tagged[0]?.forEach((score, slot) => scores.set(slot, score));
	const inside = wiki && (await load(wiki)).split(" ");
	const best = [...scores]
		.filter(([slot]) => tagged.every((it) => it.has(slot)) && (!wiki || inside.includes(slot.toString(36))))
		.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
	const most = (best[0]?.[1] / 1000) | 0;
	let slots = best.filter((it) => it[1] > most * 1000 || !most).map((it) => it[0]);
	if (phrases[0]) {
		// the words stand in the best pages, if anywhere
		const fits = await Promise.all(slots.slice(0, 40).map((slot) => hasPhrases(slot, phrases)));
		slots = slots.filter((_, i) => fits[i]);
	}
	return [slots, most === words.length];
}

async function hasPhrases(slot, phrases) {
	const [title, , , sections] = (await load(`d-${slot >> 5}`))[slot];
	const texts = [title, ...sections.map((it) => it[1]), ...(await textsOf(slot))].map((it) => ` ${wordsOf(it).join(" ")} `);
	return phrases.every((phrase) => texts.some((it) => it.includes(` ${phrase} `)));
}

// Words in a text: [start, end, word].
function places(line, words) {
	const chars = words.filter((word) => pair.test(word)).join("");
	return [...line.matchAll(RegExp(`${chars && `[${chars}]+|`}${others}\\p{M}])+`, "gu"))].flatMap(({ 0: part, index }) => {
		const plain = fold(part);
		const word = words.find((word) => plain[pair.test(word) ? "includes" : "startsWith"](word));
		return word ? [[index, index + part.length, word]] : [];
	});
}

const rate = (line = "", words) => new Set(places(line, words).map((it) => it[2])).size;

function marked(tag, line, words) {
	let done = 0;
	return make(tag, [...places(line, words).flatMap(([start, end]) => [line.slice(done, start), make("mark", line.slice(start, (done = end)))]), line.slice(done)]);
}

// As search_texts.py packs them.
const unpack = async (packed) =>
	new Response(new Blob([Uint8Array.from(atob(packed), (it) => it.charCodeAt())]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();

const textsOf = async (slot) => unpack((await load(`x-${slot >> 4}`))[slot]).catch(() => []);

// Leads to the best section of a page.
async function hit(slot, words) {
	const [title, url, wiki, sections, changed] = (await load(`d-${slot >> 5}`))[slot];
	const texts = await textsOf(slot);
	const rates = sections.map(([id, heading], i) => rate(id ? heading : title, words) * 4 + rate(texts[i], words));
	const best = rates.indexOf(Math.max(...rates));
	const [id = "", heading] = sections[best] || "";
	const line = texts[best] || "";
	const link = marked("a", title, words);
	link.href = new URL(url, root) + (id && "#" + encodeURIComponent(id));
	const day = changed && new Date(changed).toLocaleDateString(document.documentElement.lang, { dateStyle: "medium", timeZone: "UTC" });
	link.append(make("small", [[wiki, heading !== title && heading].filter(Boolean).join(" › "), day].filter(Boolean).join(" · ")));
	const first = places(line, words)[0]?.[0];
	const start = first > 60 ? line.indexOf(" ", first - 60) + 1 : 0;
	return make("li", [link, marked("p", (start ? "… " : "") + line.slice(start, start + 200), words)]);
}

// The newest query wins.
function searchIn(field, note, list, limit) {
	let newest = 0;
	const more = make("button", text.more, { onclick: () => search((limit += 10)) });
	const search = async () => {
		const mine = ++newest;
		const query = parse(field.value), { words, tags } = query;
		const isAsked = words[0] || tags[0];
		let slots = [], hits = [], say = "", isWhole;
		try {
			if (isAsked) [slots, isWhole] = await find(query, field.form.wiki?.value);
			hits = await Promise.all(slots.slice(0, limit).map((it) => hit(it, words)));
			if (isAsked) say = isWhole && 0 in slots ? text[1 in slots ? "other" : "one"].replace("{n}", slots.length) : text.none;
		} catch {
			say = text.failed;
		}
		if (mine !== newest) return;
		note.textContent = say;
		list.replaceChildren(...hits);
		list.dataset.marks = words.join(" ");
		more.remove();
		if (limit > 6 && limit in slots) list.after(more);
	};
	return search;
}

const form = document.querySelector(".search-page");
if (form) {
	const { q, wiki } = form;
	const search = (form.oninput = searchIn(q, ...document.querySelectorAll("[data-search]"), 10));
	form.onsubmit = () => false;
	q.value = new URLSearchParams(location.search).get("q") || "";
	q.focus();
	search();
	if (wiki) load("index").then(({ wikis }) => wikis.map((it) => wiki.append(new Option(...it))));
}

// The words that led here are marked until the reader clears them.
let asked;
try {
	asked = sessionStorage["wikisync-mark"];
	sessionStorage.removeItem("wikisync-mark");
	addEventListener("click", ({ target }) => {
		const list = target.closest("a") && target.closest("[data-marks]");
		if (list) sessionStorage["wikisync-mark"] = list.dataset.marks;
	});
} catch {} // a browser without storage marks nothing
if (asked) {
	const article = document.querySelector("article"), words = asked.split(" "), nodes = [];
	const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) if (!walk.currentNode.parentElement.closest("math, svg")) nodes.push(walk.currentNode);
	for (const node of nodes) if (places(node.data, words)[0]) node.replaceWith(...marked("p", node.data, words).childNodes);
	const clear = make("button", text.clear, {
		type: "button",
		onclick: () => {
			article.querySelectorAll("mark").forEach((it) => it.replaceWith(...it.childNodes));
			article.normalize();
			clear.remove();
		},
	});
	if (article.querySelector("mark")) article.before(clear);
}

// The box in the header.
const box = document.querySelector("form.search");
if (box) {
	const list = make("ol"), note = make("p", "", { role: "status" });
	const hits = make("div", [note, list], { className: "hits", hidden: true, tabIndex: -1 });
	box.append(hits);
	const search = searchIn(box.q, note, list, 6);
	box.oninput = async () => {
		await search();
		hits.hidden = !note.textContent;
	};
	box.onfocusout = (event) => (hits.hidden ||= !box.contains(event.relatedTarget));
	box.onkeydown = (event) => {
		const stops = [box.q, ...list.querySelectorAll("a")];
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		hits.hidden ||= event.key === "Escape";
		if (!step) return;
		stops.at((stops.indexOf(document.activeElement) + step) % stops.length).focus();
		return false;
	};
}
})();
