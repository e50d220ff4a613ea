// Search in the index whose form wikisync/site/search.py tells.
(() => {
const script = document.currentScript, text = script.dataset;
const root = new URL("../../", script.src);
const loaded = {}, waiting = {};
window.wikisync_search = (name, value) => (loaded[name] = value);

function make(tag, content = "", attributes) {
	const node = Object.assign(document.createElement(tag), attributes);
	node.append(content);
	return node;
}

const load = (name) =>
	(waiting[name] ??= new Promise((resolve, onerror) => {
		const onload = () => resolve(loaded[name]);
		document.head.append(make("script", "", { src: new URL(`-/search/${name}.js`, root), onload, onerror }));
	}));

// As in search.py.
const pairs = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u9fff\uac00-\ud7af\uf900-\ufaff\u{20000}-\u{3ffff}";
const others = `(?:(?![${pairs}])[\\p{L}\\p{N}_\u0900-\u0963\u0966-\u0dff`;
const pattern = new RegExp(`[${pairs}]+|${others}])+`, "gu");
const pair = new RegExp(`^[${pairs}]`, "u");
const fold = (source) =>
	source.normalize("NFKD").replace(/[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]/g, "").normalize("NFC").toLowerCase();
const wordsOf = (source) =>
	(fold(source).match(pattern) || []).flatMap((word) => {
		const chars = [...word];
		return chars[1] && pair.test(word) ? chars.slice(1).map((char, i) => chars[i] + char) : chars.slice(0, 32).join("");
	});

// Files with a word, or with all that begin with it.
function filesOf(word, isPrefix, keys) {
	const parts = [...word].map((char) => (char < "\x80" ? char : "-" + char.codePointAt().toString(16)));
	const way = parts.map((_, i) => parts.slice(0, i + 1).join(""));
	const block = "--" + (word.codePointAt() >> 6).toString(16);
	const leaf = keys.filter((key) => key === block || way.includes(key));
	const whole = way.at(-1);
	const below = keys.filter((key) => key === whole + "-" || (isPrefix && key.startsWith(whole)));
	return (leaf[0] ? leaf : below.slice(0, 9)).map((key) => "t-" + key);
}

// Scores documents with a word; one word more counts most.
async function lookUp(word, isPrefix, index, scores) {
	const found = new Map();
	const files = filesOf(word, isPrefix, index.keys.split(" ")).map(load);
	for (const entry of (await Promise.all(files)).join(" ").split(" ")) {
		const [term, postings] = entry.split(":");
		if (term !== word && !(isPrefix && term.startsWith(word))) continue;
		let slot = 0;
		for (const [, step, score] of postings.matchAll(/([0-9a-z]+)([A-Z])/g)) {
			slot += parseInt(step, 36);
			found.set(slot, Math.max(found.get(slot) || 0, (score.charCodeAt() - 64) * (term === word ? 1 : 0.7)));
		}
	}
	const rarity = Math.log(1 + index.count / found.size);
	found.forEach((value, slot) => scores.set(slot, (scores.get(slot) || 0) + 1000 + value * rarity));
}

// Documents with every word, else with the most of them, the best first.
async function find(words, wiki) {
	const index = await load("index");
	const isPrefix = (word) => word === words.at(-1) && (word[1] || pair.test(word));
	const scores = new Map();
	await Promise.all(words.map((word) => lookUp(word, isPrefix(word), index, scores)));
	const inside = wiki && (await load(wiki)).split(" ").map((slot) => parseInt(slot, 36));
	const found = [...scores].filter(([slot]) => !wiki || inside.includes(slot)).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
	const most = (found[0]?.[1] / 1000) | 0;
	return [found.filter((one) => one[1] > most * 1000).map((one) => one[0]), most === words.length];
}

// Words in a text: [start, end, word].
function places(source, words) {
	const chars = words.filter((word) => pair.test(word)).join("");
	const parts = new RegExp(`${chars && `[${chars}]+|`}${others}\\p{M}])+`, "gu");
	return [...source.matchAll(parts)].flatMap(({ 0: part, index }) => {
		const plain = fold(part);
		const word = words.find((word) => (pair.test(word) ? plain.includes(word) : plain.startsWith(word)));
		return word ? [[index, index + part.length, word]] : [];
	});
}

const rate = (source, words) => new Set(places(source, words).map((place) => place[2])).size;

function marked(tag, source, words) {
	const node = make(tag);
	let done = 0;
	for (const [start, end] of places(source, words)) {
		node.append(source.slice(done, start), make("mark", source.slice(start, end)));
		done = end;
	}
	node.append(source.slice(done));
	return node;
}

// Leads to the best section of a page.
async function hit(slot, words) {
	const [title, url, wiki, sections] = (await load(`d-${slot >> 5}`))[slot];
	const texts = (await load(`x-${slot >> 4}`))[slot];
	const rates = sections.map(([id, heading], i) => rate(id ? heading : title, words) * 4 + rate(texts[i], words));
	const best = rates.indexOf(Math.max(...rates));
	const [id = "", heading] = sections[best] || "";
	const source = texts[best] || "";
	const link = marked("a", title, words);
	link.href = new URL(url, root) + (id && "#" + encodeURIComponent(id));
	link.append(make("small", [wiki, heading !== title && heading].filter(Boolean).join(" › ")));
	const first = places(source, words)[0]?.[0];
	const start = first > 60 ? source.indexOf(" ", first - 60) + 1 : 0;
	const item = make("li", link);
	item.append(marked("p", (start ? "… " : "") + source.slice(start, start + 200), words));
	return item;
}

// The newest query wins.
function searchIn(field, list, note, limit) {
	let newest = 0;
	const more = make("button", text.more, { onclick: () => search((limit += 10)) });
	const search = async () => {
		const mine = ++newest;
		const words = [...new Set(wordsOf(field.value))];
		let slots = [], hits = [], message = "", isWhole;
		try {
			if (words[0]) [slots, isWhole] = await find(words, field.form.wiki?.value);
			hits = await Promise.all(slots.slice(0, limit).map((slot) => hit(slot, words)));
			if (words[0]) message = isWhole ? text[slots[1] ? "other" : "one"].replace("{n}", slots.length) : text.none;
		} catch {
			message = text.failed;
		}
		if (mine !== newest) return;
		note.textContent = message;
		list.replaceChildren(...hits);
		more.remove();
		if (limit > 6 && slots.length > limit) list.after(more);
	};
	return search;
}

const form = document.querySelector(".search-page");
if (form) {
	const { q, wiki } = form;
	const search = (form.oninput = searchIn(q, siteHits, siteStatus, 10));
	form.onsubmit = (event) => event.preventDefault();
	q.value = new URLSearchParams(location.search).get("q") || "";
	q.focus();
	search();
	if (wiki) load("index").then((index) => index.wikis.map(([title, value]) => wiki.append(make("option", title, { value }))));
}

// The box in the header, hits below.
const box = document.querySelector("form.search");
if (box) {
	const list = make("ol"), note = make("p", "", { role: "status" });
	const hits = make("div", note, { className: "hits", hidden: true, tabIndex: -1 });
	hits.append(list);
	box.append(hits);
	const search = searchIn(box.q, list, note, 6);
	box.oninput = async () => {
		await search();
		hits.hidden = !note.textContent;
	};
	box.onfocusout = (event) => (hits.hidden ||= !box.contains(event.relatedTarget));
	box.onkeydown = (event) => {
		const stops = [box.q, ...list.querySelectorAll("a")];
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === "Escape") hits.hidden = true;
		if (!step) return;
		event.preventDefault();
		stops.at((stops.indexOf(document.activeElement) + step) % stops.length).focus();
	};
}
})();
