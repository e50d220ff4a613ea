// Finds pages in the index of search.py, and shows them; loaded for the first query.
wikisync_search("find", (root, text, make, loadScript) => {
const waiting = {};

// Bytes of a query.
const most = 26500;
let spent = 0, budget = most;
const left = (cost = 0) => budget - (spent += cost);
const load = (name) =>
	(waiting[name] ??= loadScript(name, fileOf(name)).then((value) => {
		if (!/^[pf]/.test(name)) spent += new Blob([JSON.stringify(value)]).size + 40;
		return value;
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
		const plain = "_" + fold(part);
		const word = words.find((word) => plain.includes(pair.test(word) ? word : "_" + word));
		return word ? [[index, index + part.length, word]] : [];
	});
}

const rate = (line = "", words) => new Set(places(line, words).map((it) => it[2])).size;

function marked(tag, line, words) {
	let done = 0;
	return make(tag, [...places(line, words).flatMap(([start, end]) => [line.slice(done, start), make("mark", line.slice(start, (done = end)))]), line.slice(done)]);
}

// With headings, and the text below the best.
async function hit([slot, score], words) {
	const [title, url, wiki, some, lead, size, changed] = await pageOf(slot, 0);
	const [texts = [], more = []] = await textsOf(slot, size);
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
function searchIn(field, note, near, list, limit) {
	let newest = 0;
	const more = make("button", text.more, { onclick: () => search((limit += 10)) });
	const search = async () => {
		const mine = ++newest;
		const query = parse(field.value);
		const isAsked = query.words[0] || query.tags[0];
		spent = 0;
		budget = most * Math.ceil(limit / 10);
		let words = [], shown = [], pages = [], hits = [], say = "", isWhole, checked, isMore;
		try {
			if (isAsked) [pages, isWhole, checked, isMore] = await find(query, field.form.wiki?.value, near);
			words = query.words.map(stemOf);
			shown = await ranked(pages, words, limit);
			hits = (await Promise.all(shown.map((it) => hit(it, words)))).sort((a, b) => b[0] - a[0]).map((it) => it[1]);
			const which = isMore ? "phrase" : 0 in pages && !(1 in pages) ? "one" : "other";
			if (field.value.trim()) say = checked || isMore || (isWhole && 0 in pages) ? text[which].replace("{n}", pages.length).replace("{m}", checked) : text.none;
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

// Words that say nothing beside others.
const common = /^(an?|and|another|are|as|at|by|can|do|does|during|for|from|has|have|how|i|in|into|is|it|me|my|of|on|or|the|this|to|what|when|where|which|who|why|with|you|your|auf|das|de|dem|den|der|des|die|du|ein|eine|el|en|et|fur|im|ist|la|le|les|los|mit|o|os|para|pour|um|un|und|une|von|was|wer|wie|wo|y|zu)$/;
const hexOf = (word) => [...new TextEncoder().encode(word)].map((it) => it.toString(16)).join("");
const backward = (word) => [...word].reverse().join("");
const count = (postings) => parseInt(postings.match(/^\d+!/) || postings.match(/[A-Z]/g).length);

// As search_texts.py packs them.
const unpack = async (packed) =>
	new Response(new Blob([Uint8Array.from(atob(packed), (it) => it.charCodeAt())]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();

// Texts of a page, and headings not beside its title; nothing if bytes do not last.
async function textsOf(slot, size) {
	const cost = waiting[[slot, 1]] ? 0 : size * 1024;
	if (cost && cost > left()) return [];
	left(cost);
	const [packed, ...more] = await pageOf(slot, 1);
	if (cost) left(packed.length - cost);
	return [await unpack(packed).catch(() => []), more];
}

// Words and postings of the words' shards, and of some behind the last.
async function entries(words, below = 0, kind = "t") {
	const last = (keys, hex) => keys.filter((it) => it <= hex).pop() || keys[0];
	const lists = (await load("index"))[kind].split(" ");
	const names = new Set();
	for (const word of words) {
		const hex = hexOf(word), list = last(lists, hex);
		if (!list) continue;
		const keys = (await load(`k-${kind}${list}`)).split(" ");
		names.add(last(keys, hex));
		const more = keys.filter((it) => word === words.at(-1) && it.startsWith(hex) && !names.has(it));
		more.slice(0, below).map((it) => names.add(it));
	}
	const shards = await Promise.all([...names].map((key) => load(`${kind}-${key}`)));
	return shards.flatMap((it) => it.split(" ")).map((it) => it.split(":"));
}

// As they are: [word, postings, fit].
const exactly = async (words, fit = 1) => (await entries(words)).filter((it) => words.includes(it[0])).map((it) => [...it, fit]);

// A word and its other forms; one nearly everywhere needs none.
async function formsOf(word, isOpen) {
	const own = await exactly([word]), stem = stemOf(word);
	if (own[0]?.[1].includes("!")) return own;
	isOpen &&= word[1] || pair.test(word);
	const open = word.replace(/^ال(?=..?$)/, "");
	const all = await entries(isOpen ? [stem, open] : [word, stem], isOpen || word[4] ? 2 : 0);
	return all
		.map(([it, postings]) => [it, postings, it === word ? 1 : it.replace(/s$/, "") === word.replace(/s$/, "") ? 0.95 : stemOf(it) === stem ? 0.75 : isOpen && it.startsWith(open) ? 0.6 : 0])
		.filter((it) => it[2]);
}

// What a word may be a slip of, or its plural: a letter wrong, missing, extra or
// swapped, a space missing.  All but two are the same before or behind.
async function meant(word, least) {
	if (!word[3] || word[0] === "=" || pair.test(word)) return [];
	if (!least) word = word.replace(/(?<=.{4})s$/, "");
	const slips = [...word].map((it, i, { [i + 1]: next = "" }) => `${word.slice(0, i)}(?:.?${next}|.${it}${next}|${next}${it})${word.slice(i + 2)}`);
	const slip = RegExp(`^(?:${slips.join("|")}|${word}.)${least ? "" : "s?"}$`, "u");
	const parts = [...word].slice(2, -1).map((_, i) => [word.slice(0, i + 2), word.slice(i + 2)]);
	const half = Math.max(2, (word.length - 2) >> 1), back = backward(word);
	const asked = [...parts.map((it) => it[0]), ...(word[4] ? [] : [word[0] + word[2]]), word, word.slice(0, half)];
	const backs = [...parts.map((it) => "_" + backward(it[1])), "_" + back, "_" + back.slice(0, half)];
	// loaded already: rare words, too
	const known = new Map((await entries([word])).map(([it, postings]) => [it, Math.log2(count(postings)) + 1]));
	const both = await entries(asked, 1, "r");
	if (left() > 12e3) both.push(...(await entries(backs, 1, "r")));
	for (const [it, rank] of both) known.set(it[0] === "_" ? backward(it.slice(1)) : it, parseInt(rank[1], 36) - 10);
	const best = (all) => all.filter((it) => it[1] > least).sort((a, b) => b[1] - a[1]);
	const [two] = best(parts.map((it) => [it, Math.min(...it.map((part) => (common.test(part) ? 9 : known.get(part)) || 0))]));
	const few = best([...known].filter((it) => slip.test(it[0]))).slice(0, 3);
	return two && !(few[0]?.[1] > two[1]) ? two[0].map((it) => [it]) : few[0] ? [few.map((it) => it[0])] : [];
}

// Forms of all words, and of what was meant; those of a phrase as they are.
async function unitsOf(query, quoted, total) {
	const telling = query.words.filter((it) => !common.test(it)), words = telling[0] ? telling : query.words;
	const units = [], names = [];
	const forms = await Promise.all(words.map((word, i) => (quoted.has(word) ? exactly([word]) : formsOf(word, !words[i + 1]))));
	for (let i = 0; i < words.length; i++) {
		let word = words[i];
		const fit = forms[i], next = words[i + 1];
		if (quoted.has(word)) {
			fit.isQuoted = true;
			units.push(fit);
			names.push(word);
			continue;
		}
		const joined = next && !pair.test(word + next) ? await exactly([word + next, `${word}_${next}`]) : [];
		if (joined[0] && !(fit[0] && forms[i + 1][0])) {
			word += next;
			fit.splice(0, 99, ...joined);
			i++;
		} else if (joined[0]) for (const it of [fit, forms[i + 1]]) it.push(...joined);
		const own = fit.find((it) => it[2] === 1)?.[1], size = own ? count(own) : 0;
		const isRare = size < 4 + total / 500 && !/[H-Z]/.test(own);
		const others = isRare ? await meant(word, size && Math.log2(size) + 3) : [];
		// a word that is there has no space missing
		if (fit[0] && others[1]) others.length = 0;
		const more = await Promise.all(others.map((some) => exactly(some, 0.9)));
		units.push(...(others[1] ? more : [[...fit, ...more.flat()]]));
		names.push(...(others[0] ? others.flat() : [word]));
	}
	query.words = names;
	return units;
}

// The best score of each document; words are as rare as in the near wiki.
function scoresOf(forms, total, inside) {
	const found = new Map();
	for (const [, postings, fit] of forms) {
		let slot = 0;
		const steps = [...postings.replace(/^\d+!/, "").matchAll("(.+?)([A-Z])")];
		const ranks = steps.map((it) => [(slot += parseInt(it[1], 36)), parseInt(it[2], 36) - 8]);
		const here = inside && ranks.filter((it) => inside.has(it[0])).length;
		const weight = fit * Math.log(1 + (here ? inside.size / here : total / count(postings)));
		for (const [slot, rank] of ranks) found.set(slot, Math.max(found.get(slot) || 0, weight * rank));
	}
	// a word nearly everywhere asks for nothing
	found.weight = forms.some((it) => it[1].includes("!")) ? 0 : Math.log(1 + total / found.size);
	return found;
}

// Documents of a wiki, in steps whose last digit is a capital.
async function slotsIn(name) {
	let slot = 0;
	const steps = (await load(name)).matchAll("([^A-Z]*)([A-Z])");
	return new Set([...steps].map(([, tens, ones]) => (slot += parseInt(tens || 0, 36) * 26 + parseInt(ones, 36) - 10)));
}

// Documents with most words, and scores: those of a near wiki first.
async function find(query, wiki, near) {
	const { count: total, wikis } = await load("index");
	const { tags, phrases } = query;
	const scores = new Map();
	near = wiki || wikis.find((it) => it[0] === near)?.[1];
	const inside = near && (await slotsIn(near));
	const needed = await Promise.all(tags.map(async (tag) => scoresOf(await exactly([tag]), total)));
	if (!query.words[0]) needed[0]?.forEach((score, slot) => scores.set(slot, [0, score]));
	let whole = 0;
	for (const forms of await unitsOf(query, new Set(phrases.join(" ").split(" ")), total)) {
		const found = scoresOf(forms, total, inside);
		whole += found.weight;
		if (forms.isQuoted && found.weight) needed.push(found);
		found.forEach((score, slot) => {
			const [weight, sum] = scores.get(slot) || [0, 0];
			scores.set(slot, [weight + found.weight, sum + score]);
		});
	}
	const fit = [...scores].filter(([slot]) => needed.every((it) => it.has(slot)) && (!wiki || inside.has(slot)));
	const most = Math.max(...fit.map((it) => it[1][0]));
	// a near wiki is first if a page of it has most words
	const isNear = fit.some((it) => inside?.has(it[0]) && it[1][0] >= most * 0.9);
	const pages = fit
		.filter((it) => it[1][0] >= most * 0.6)
		.map(([slot, [weight, sum]]) => [slot, sum * (weight / most || 1) * (isNear && inside.has(slot) ? 99 : 1)])
		.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
	if (!phrases[0]) return [pages, most === whole];
	// of pages with its words, the best are read for a phrase
	const fits = [];
	let checked = 0;
	for (let i = 0; i < pages.length && left() > 1500; i += 3) {
		const few = pages.slice(i, i + 3);
		const has = await Promise.all(few.map((it) => hasPhrases(it[0], phrases)));
		fits.push(...few.filter((_, i) => has[i]));
		checked += has.filter((it) => it !== undefined).length;
	}
	return [fits, most === whole, checked, checked < pages.length];
}

async function hasPhrases(slot, phrases) {
	const [title, , , sections, lead, size] = await pageOf(slot, 0);
	const isIn = (phrase) => (it) => ` ${wordsOf(it).join(" ")} `.includes(` ${phrase} `);
	const has = (lines) => phrases.every((phrase) => lines.some(isIn(phrase)));
	const some = [title, lead, ...sections.map((it) => it[1])];
	if (has(some)) return true;
	const [texts, more] = await textsOf(slot, size);
	return texts && has(some.concat(texts, more.map((it) => it[1])));
}

// The best pages, as bytes allow: words count more together in a heading, the
// beginning or the path, and most as the title.
async function ranked(pages, words, limit) {
	const weighed = async ([slot, score]) => {
		const [title, url, , sections, lead] = await pageOf(slot, 0);
		const path = `${title} ${decodeURIComponent(url).split("/-/wikis/").pop()}`;
		const rates = [path, ...sections.map((it) => it[1])].map((it) => rate(it, words));
		const share = Math.max(...rates, rate(lead, words) * 0.8) / words.length;
		const named = rate(title, words) ** 2 / words.length / wordsOf(title).length;
		return [slot, score * (1 + share * share + named / 2 || 1)];
	};
	const before = left(), best = await Promise.all(pages.slice(0, 3).map(weighed));
	// no cost: sought for a phrase
	const cost = (before - left()) / 3, room = cost ? Math.min(10, 3 + Math.max(0, (left() - 1500) / cost)) | 0 : 10;
	best.push(...(await Promise.all(pages.slice(3, room).map(weighed))));
	best.sort((a, b) => b[1] - a[1]);
	return best.concat(limit > 10 ? pages.slice(room) : []).slice(0, limit);
}

// What led here.
function mark(asked) {
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

return { load, mark, searchIn };
});
