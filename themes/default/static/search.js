// See wikisync/site/search.py.
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

// Bytes of a query.
const most = 26500;
let spent = 0, budget = most;
const left = (cost = 0) => budget - (spent += cost);
const load = (name) =>
	(waiting[name] ??= new Promise((resolve, onerror) => {
		const onload = () => {
			const value = loaded[name];
			if (!/^[pf]/.test(name)) spent += new Blob([JSON.stringify(value)]).size + 40;
			resolve(value);
		};
		document.head.append(make("script", "", { src: name === "find" ? text.find : fileOf(name), onload, onerror }));
	}));
const fileOf = (name) => new URL(`-/search/${name}.js`, root);

// "" where the server gives no parts.
let hasParts = root.protocol[3] === "p";
async function bytes(name, from, size) {
	const answer = hasParts && (await fetch(fileOf(name), { headers: { Range: `bytes=${from}-${from + size - 1}` } }).catch(() => 0));
	return (hasParts = answer.status === 206) ? answer.text() : "";
}

// 0: title, address, headings; 1: texts.
const pageOf = (slot, kind) => (waiting[[slot, kind]] ??= partOf(`p-${slot >> 5}`, slot & 31, kind));
async function partOf(name, place, kind) {
	const [head, list] = (await (waiting[name + "!"] ??= bytes(name, 0, 400))).match(/^.*?\[(\[.*?\],\[.*?\]),/) || [];
	const [slots, sizes] = head ? JSON.parse(`[${list}]`) : await load(name);
	const index = slots.indexOf(place), own = index + kind * slots.length;
	if (!kind) spent += sizes[index] + 400;
	try {
		return JSON.parse(head && (await bytes(name, sizes.slice(0, own).reduce((sum, it) => sum + it + 1, head.length), sizes[own])));
	} catch {
		return (await load(name))[own + 2];
	}
}

// As in search.py.
const pairs = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u9fff\uac00-\ud7af\uf900-\ufaff\u{20000}-\u{3ffff}";
const others = `(?:(?![${pairs}])[\\p{L}\\p{N}_\u0900-\u0963\u0966-\u0dff`;
const pattern = RegExp(`[${pairs}]+|${others}])+`, "gu");
const pair = RegExp(`^[${pairs}]`, "u");
const plain = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l", ı: "i" };
const fold = (line) =>
	line.normalize("NFKD").replace(/[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]/g, "").replace(/(?<![\u0620-\u06ff])[وفبك]?ال(?=[\u0620-\u064a]{3})/g, "").normalize("NFC").toLowerCase().replace(/[ßæœøđłı]/g, (it) => plain[it]);
const wordsOf = (line) =>
	(fold(line).match(pattern) || []).flatMap((word) => {
		const chars = [...word];
		return chars[1] && pair.test(word) ? chars.slice(1).map((it, i) => chars[i] + it) : chars.slice(0, 32).join("");
	});

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

const stemOf = (word) => {
	const [, stem = word] = word.match(/^(.{3,}?)(?:(?<=.{4})e?ment)?(?:(?<=.{4})[ai]bles?|(?:at)?ions?|ung(?:en)?|(?:er)?(?:ings?|e?ly|e[dnms])|ers?|(?<=e)(?:rs?|d)|s|e|y)?$/u) || [];
	return stem.replace(/(.)\1$/, "$1");
};
// [start, end, word].
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

// With headings, and the text below the best.
async function hit([slot, score], words, textsOf) {
	const [title, url, wiki, some, lead, size, changed] = await pageOf(slot, 0);
	const [texts, more] = await textsOf(slot, size);
	const sections = [...some, ...more];
	const rates = sections.map(([id, heading], i) => rate(id ? heading : title, words) * 4 + rate(texts[i], words));
	const best = rates.indexOf(Math.max(...rates));
	const line = texts[best] || lead;
	const linked = (content, hash) => Object.assign(marked("a", content, words), { href: new URL(url, root) + hash });
	const link = linked(title, "");
	const day = changed && new Date(changed).toLocaleDateString(document.documentElement.lang.replace(/^en$/, "en-GB"), { dateStyle: "medium", timeZone: "UTC" });
	link.append(make("small", [wiki, day].filter(Boolean).join(" · ")));
	const headings = sections
		.map(([id, heading], i) => [rates[i], heading, id, i])
		.filter(([found, heading, id, i]) => id && found && heading !== title && (i === best || rate(heading, words)))
		.sort((a, b) => b[0] - a[0])
		.slice(0, 3);
	const first = places(line, words)[0]?.[0];
	const start = first > 60 ? line.indexOf(" ", first - 60) + 1 : 0;
	const parts = [link, marked("p", (start ? "… " : "") + line.slice(start, start + 300), words)];
	if (headings[0]) parts.push(make("ul", headings.map(([, heading, id]) => make("li", linked(heading, "#" + encodeURIComponent(id))))));
	return [score * (1 + isTogether([title, lead, ...sections.map((it) => it[1]), ...texts], words) / 2), make("li", parts)];
}

// Side by side, but for a short word.
const isTogether = (lines, words) =>
	words[1] &&
	lines.some((line) => {
		const found = places(line, words);
		return found.some((_, i) => words.every((word, k) => found[i + k]?.[2] === word && (!k || found[i + k][0] - found[i + k - 1][1] < 6)));
	});

// The newest query wins.
function searchIn(field, note, list, limit) {
	let newest = 0;
	const more = make("button", text.more, { onclick: () => search((limit += 10)) });
	const search = async () => {
		const mine = ++newest;
		const query = parse(field.value);
		const isAsked = query.words[0] || query.tags[0];
		spent = 0;
		budget = most * Math.ceil(limit / 10);
		let words = [], shown = [], pages = [], hits = [], say = "", isWhole, isMore;
		try {
			const [find, ranked, textsOf] = (await load("find"))({ load, waiting, pair, wordsOf, stemOf, pageOf, left, rate });
			const ask = async () => ([pages, isWhole, isMore] = await find(query, field.form.wiki?.value, near));
			if (isAsked) await ask();
			// a phrase may be in the next pages
			for (; isMore && !pages[0] && budget < 4 * most; budget += most) await ask();
			words = query.words.map(stemOf);
			shown = await ranked(pages, words, limit);
			hits = (await Promise.all(shown.map((it) => hit(it, words, textsOf)))).sort((a, b) => b[0] - a[0]).map((it) => it[1]);
			if (field.value.trim()) say = isMore || (isWhole && 0 in pages) ? text[1 in pages || isMore ? "other" : "one"].replace("{n}", pages.length + (isMore ? "+" : "")) : text.none;
		} catch {
			say = text.failed;
		}
		if (mine !== newest) return;
		note.textContent = say;
		list.replaceChildren(...hits);
		list.dataset.marks = words.join(" ");
		more.remove();
		if (limit > 6 && (isMore || shown.length in pages)) list.after(more);
	};
	return search;
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
	if (wiki) load("index").then(({ wikis }) => wikis.map((it) => wiki.append(new Option(...it))));
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
