// Finds pages in the index of search.py; loaded for the first query.
wikisync_search("find", ({ load, waiting, pair, wordsOf, stemOf, pageOf, left, rate }) => {
// Words that say nothing beside others.
const common = /^(an?|and|another|are|as|at|by|can|do|does|during|for|from|has|have|how|i|in|into|is|it|me|my|of|on|or|the|this|to|what|when|where|which|who|why|with|you|your|auf|das|de|dem|den|der|des|die|du|ein|eine|el|en|et|fur|im|ist|la|le|les|los|mit|o|os|para|pour|um|un|und|une|von|was|wer|wie|wo|y|zu)$/;
const hexOf = (word) => [...new TextEncoder().encode(word)].map((it) => it.toString(16)).join("");
const backward = (word) => [...word].reverse().join("");
const count = (postings) => parseInt(postings.match(/^\d+!/) || postings.match(/[A-Z]/g).length);

// As search_texts.py packs them.
const unpack = async (packed) =>
	new Response(new Blob([Uint8Array.from(atob(packed), (it) => it.charCodeAt())]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();

// Texts of a page, and headings not beside its title.
async function textsOf(slot, size) {
	const cost = waiting[[slot, 1]] ? 0 : size * 1024;
	if (cost && cost > left()) return [[], []];
	left(cost);
	const [packed, ...more] = await pageOf(slot, 1);
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

// Forms of all words, and of what was meant.
async function unitsOf(query, total) {
	const telling = query.words.filter((it) => !common.test(it)), words = telling[0] ? telling : query.words;
	const units = [], names = [];
	const forms = await Promise.all(words.map((word, i) => formsOf(word, !words[i + 1])));
	for (let i = 0; i < words.length; i++) {
		let word = words[i];
		const fit = forms[i], next = words[i + 1];
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
	let whole = 0;
	for (const forms of await unitsOf(query, total)) {
		const found = scoresOf(forms, total, inside);
		whole += found.weight;
		found.forEach((score, slot) => {
			const [weight, sum] = scores.get(slot) || [0, 0];
			scores.set(slot, [weight + found.weight, sum + score]);
		});
	}
	const tagged = await Promise.all(tags.map(async (tag) => scoresOf(await exactly([tag]), total)));
	if (!query.words[0]) tagged[0]?.forEach((score, slot) => scores.set(slot, [0, score]));
	const fit = [...scores].filter(([slot]) => tagged.every((it) => it.has(slot)) && (!wiki || inside.has(slot)));
	const most = Math.max(...fit.map((it) => it[1][0]));
	// a near wiki is first if a page of it has most words
	const isNear = fit.some((it) => inside?.has(it[0]) && it[1][0] >= most * 0.9);
	const pages = fit
		.filter((it) => it[1][0] >= most * 0.6)
		.map(([slot, [weight, sum]]) => [slot, sum * (weight / most || 1) * (isNear && inside.has(slot) ? 99 : 1)])
		.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
	if (!phrases[0]) return [pages, most === whole];
	// the words stand in the best pages, if anywhere
	const fits = [];
	let checked = 0;
	for (; checked < pages.length && left() > 0; checked += 3) {
		const few = pages.slice(checked, checked + 3);
		const has = await Promise.all(few.map((it) => hasPhrases(it[0], phrases)));
		fits.push(...few.filter((_, i) => has[i]));
	}
	return [fits, most === whole, checked < pages.length];
}

async function hasPhrases(slot, phrases) {
	const [title, , , sections, lead, size] = await pageOf(slot, 0);
	const isIn = (phrase) => (it) => ` ${wordsOf(it).join(" ")} `.includes(` ${phrase} `);
	const has = (lines) => phrases.every((phrase) => lines.some(isIn(phrase)));
	const some = [title, lead, ...sections.map((it) => it[1])];
	return has(some) || has(some.concat((await textsOf(slot, size))[0]));
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

return [find, ranked, textsOf];
});
