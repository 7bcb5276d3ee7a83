package exchange

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// modelSteps is how many random steps are compared with the exact model. Tests that do so run beside nothing else: they
// keep the processor busy, and others wait for answers that are to come within 40 ms.
func modelSteps(t testing.TB) int { return redistest.Count(t, 15_000, 500_000) }

// virtual is the shipped text of a script on a clock of ours. Keys go by that
// clock, too: PX is given to the server, read back by PTTL, and then kept beside
// the key.
//
// KEYS  of the shipped script
// ARGV  time now, µs; a key whose state is copied to KEYS[1] before, or ”; then
// those of the shipped script
//
// Returns {state of KEYS[1] afterwards, when that goes in ms, how many writes there were, what the shipped script returned}.
func virtual(s *scripts.Script) string {
	return `
local function shipped(redis, KEYS, ARGV)
` + s.Body() + `
end
local real, now, args, writes = redis, ARGV[1], {}, 0
local ms = math.floor(now / 1000)
for i = 3, #ARGV do
	args[i - 2] = ARGV[i]
end
local function forget(key)
	return real.call('DEL', key, key .. ':due') > 0 and 1 or 0
end
local function put(key, text, option, px)
	writes = writes + 1
	if not option then
		real.call('SET', key, text)
	else
		real.call('SET', key, text, option, px)
		local left = real.call('PTTL', key)
		if option ~= 'PX' or left > tonumber(px) or left < px - 600000 then
			error('PX ' .. px .. ' left ' .. left)
		end
		real.call('PERSIST', key)
		real.call('SET', key .. ':due', string.format('%.0f', ms + px))
	end
	return {ok = 'OK'}
end
local function expire(key)
	local due = real.call('GET', key .. ':due')
	if due and ms > tonumber(due) then
		forget(key)
	end
	return due
end
local clock = {error_reply = real.error_reply}
function clock.call(command, key, ...)
	if command == 'TIME' then
		return {string.format('%.0f', math.floor(now / 1000000)), string.format('%.0f', now % 1000000)}
	elseif command == 'GET' then
		expire(key)
		return real.call('GET', key)
	elseif command == 'PTTL' then
		return tonumber(expire(key)) - ms
	elseif command == 'DEL' then
		expire(key)
		return forget(key)
	elseif command == 'SET' then
		return put(key, ...)
	end
	error('a command that the tests do not know: ' .. command)
end
function clock.pcall(command, key, px)
	assert(command == 'PEXPIRE' and real.call('EXISTS', key) == 1, command)
	real.call('SET', key .. ':due', string.format('%.0f', ms + px))
	return 1
end
if ARGV[2] ~= '' then
	forget(KEYS[1])
	local text, due = real.call('GET', ARGV[2]), real.call('GET', ARGV[2] .. ':due')
	if text then
		real.call('SET', KEYS[1], text)
	end
	if due then
		real.call('SET', KEYS[1] .. ':due', due)
	end
end
local reply = shipped(clock, KEYS, args)
if reply == nil then
	reply = 'nil'
end
return {real.call('GET', KEYS[1]) or '', real.call('GET', KEYS[1] .. ':due') or '', writes, reply}
`
}

// lab runs virtual scripts.
type lab struct {
	c    rueidis.Client
	shas map[*scripts.Script]string
}

func newLab(t testing.TB) *lab {
	l := &lab{c: redistest.Shared(t).Client(t), shas: map[*scripts.Script]string{}}
	for _, s := range []*scripts.Script{takeScript, decideScript, cancelScript, blockScript, resetScript, ruleCreateScript, ruleSetScript} {
		sha, err := l.c.Do(t.Context(), l.c.B().ScriptLoad().Script(virtual(s)).Build()).ToString()
		require.NoError(t, err)
		l.shas[s] = sha
	}
	return l
}

// request is one script call of a world, and what is to be done with the reply.
type request struct {
	script *scripts.Script
	key    string
	source string
	args   []string
	check  func(reply)
}

type reply struct {
	state, due string
	writes     int64
	numbers    []int64 // nil if there is no array
	text       string
}

func (l *lab) send(t testing.TB, now []int64, rs []request) []reply {
	cmds := make([]rueidis.Completed, len(rs))
	for i, r := range rs {
		args := append([]string{bucket.Decimal(now[i]), r.source}, r.args...)
		cmds[i] = l.c.B().Arbitrary("EVALSHA").Args(l.shas[r.script], "1").Keys(r.key).Args(args...).Build()
	}
	out := make([]reply, len(rs))
	for i, res := range l.c.DoMulti(t.Context(), cmds...) {
		parts, err := res.ToArray()
		require.NoError(t, err, "%s %q", rs[i].script.Name, rs[i].args)
		out[i] = readReply(t, parts)
	}
	return out
}

func readReply(t testing.TB, parts []rueidis.RedisMessage) (r reply) {
	var err error
	r.state, err = parts[0].ToString()
	require.NoError(t, err)
	r.due, err = parts[1].ToString()
	require.NoError(t, err)
	r.writes, err = parts[2].AsInt64()
	require.NoError(t, err)
	switch {
	case parts[3].IsArray():
		r.numbers, err = parts[3].AsIntSlice()
	case parts[3].IsInt64():
		var n int64
		n, err = parts[3].AsInt64()
		r.numbers = []int64{n}
	default:
		r.text, err = parts[3].ToString()
	}
	require.NoError(t, err)
	return r
}

// served is a world whose bucket is on the server.
type served struct {
	*world
	key   string
	lives int       // how many rules there were of which each had gone
	later []request // what take.lua left to decide.lua
}

// next is what the world does next, as one or two script calls; then, if the
// first says so, one more.
func (w *served) next() []request {
	w.tick()
	if w.happens(40) { // the server has no occasion to drop the key
		if w.happens(4) && w.now > w.latest {
			return w.goes()
		}
		if w.happens(4) {
			return w.setRate(w.rule.code.Rate, w.happens(2))
		}
		return w.setRate(w.otherRate(), w.happens(4))
	}
	w.m.expire(w.now)
	switch {
	case w.happens(12):
		if h, ok := w.release(); ok {
			return w.cancel(h)
		}
	case w.happens(60):
		return w.blockFor(1 + w.below(2*w.µs(w.rule.model, 1+w.below(w.rule.code.Burst))))
	case w.happens(80):
		return []request{{resetScript, w.key, "", nil, func(reply) { w.note("reset"); w.m = model{} }}}
	}
	r := w.which()
	return w.decide(r, w.batch(r))
}

// decide is a batch. What the lean script can do, both have to do alike.
func (w *served) decide(r pair, b batch) []request {
	w.note("%v gen %d: %s", r.code.Rate, r.code.Generation, wish{b, w.mono()})
	x := exchangeOf(r.code, b, w.mono())
	args := decideArgs(x)
	general := request{script: decideScript, key: w.key, args: args, check: func(got reply) { w.decided(r, b, x, got) }}
	if !x.lean() {
		return []request{general}
	}
	var twin reply
	first := request{decideScript, w.key + ":twin", w.key, args, func(got reply) { twin = got }}
	lean := request{script: takeScript, key: w.key, args: []string{equal(r.code, x.runs[0].N, x.runs[0].calls)}}
	lean.check = func(got reply) {
		if got.text == "nil" {
			w.later = append(w.later, general)
			return
		}
		if got.numbers == nil {
			require.Equal(w.t, got.state, got.text, "%s", w)
			q, at := bucket.Unpack(got.text, 2)*r.code.PerToken+bucket.Unpack(got.text, 3), bucket.Unpack(got.text, 1)
			got.numbers = []int64{q, at, at, x.runs[0].calls}
			require.Equal(w.t, at, w.now, "%s", w)
		}
		require.Len(w.t, got.numbers, 4)
		as := got
		as.numbers = []int64{got.numbers[2], got.numbers[0], got.numbers[1], 0, got.numbers[3]}
		w.decided(r, b, x, as)
		require.Equal(w.t, twin.numbers, as.numbers, "decide.lua and take.lua differ: now, q, t, k\n%s", w)
		require.Equal(w.t, []any{twin.state, twin.writes}, []any{got.state, got.writes}, "decide.lua and take.lua differ: state, writes\n%s", w)
	}
	return []request{first, lean}
}

// adopting is a batch by a rule that is the newest although a newer one has
// decided already.
func (w *served) adopting(r pair, b batch) request {
	older := *r.model
	older.reset = -1
	r.model = &older
	x := exchangeOf(r.code, b, w.mono())
	x.adopt = true
	w.note("the same, adopting")
	return request{script: decideScript, key: w.key, args: decideArgs(x), check: func(got reply) { w.decided(r, b, x, got) }}
}

// decideArgs is what an exchange sends.
func decideArgs(x *exchange) []string {
	x.argue()
	return slices.Clone(x.args)
}

// decided compares one exchange with the model.
func (w *served) decided(r pair, b batch, x *exchange, got reply) {
	defer x.free()
	before := w.m
	told, stale := w.play(r, b)
	if stale {
		require.Equal(w.t, []int64{-1}, got.numbers, "a state of a newer rule\n%s", w)
		require.Zero(w.t, got.writes)
		if w.happens(2) {
			w.later = append(w.later, w.adopting(r, b))
		}
		return
	}
	fill(w.t, x, got.numbers)
	x.deal(b)
	w.compare(r, b, told)
	w.stored(before, r, got)
}

// stored compares the state.
func (w *served) stored(before model, r pair, got reply) {
	if !w.m.there {
		require.Empty(w.t, got.state, "full means absent\n%s", w)
		w.m = model{}
		return
	}
	require.NotEmpty(w.t, got.state, "something is missing, %v at %d\n%s", w.m.missing, w.m.t, w)
	if got.writes == 0 {
		require.Equal(w.t, before.due, w.dueOf(got), "%s", w)
		w.m.due = before.due
		return
	}
	w.m.due = w.dueOf(got)
	w.readable(r, got.state)
	w.lasts(r)
}

func (w *served) dueOf(got reply) int64 {
	due, err := strconv.ParseInt(got.due, 10, 64)
	require.NoError(w.t, err, "a state without PX: %+v\n%s", got, w)
	return due
}

// readable checks that what is written is what is missing.
func (w *served) readable(r pair, state string) {
	require.Zero(w.t, len(state)%bucket.Width, "%q\n%s", state, w)
	numbers := make([]int64, len(state)/bucket.Width)
	for i := range numbers {
		numbers[i] = bucket.Unpack(state, i)
	}
	require.Contains(w.t, []int{4, 5}, len(numbers), "%q\n%s", state, w)
	missing := plus(whole(numbers[2]), new(big.Rat).SetFrac64(numbers[3], r.code.PerToken))
	if read, ok := r.code.Read(state, w.m.t); numbers[0] == r.code.Generation {
		require.True(w.t, ok, "%s", w)
		require.Zero(w.t, missing.Cmp(new(big.Rat).SetFrac64(read.Missing, r.code.PerToken)), "%s", w)
	}
	want := []int64{w.m.gen, w.m.t}
	if w.m.block > 0 {
		want = append(want, w.m.block)
	}
	if w.m.missing.Sign() == 0 {
		numbers[1], want[1] = 0, 0 // as of when nothing is missing does not matter
	}
	require.Equal(w.t, want, append(numbers[:2:2], numbers[4:]...), "%q\n%s", state, w)
	require.Zero(w.t, missing.Cmp(w.m.missing), "%q: %v, not %v\n%s", state, missing, w.m.missing, w)
	require.Less(w.t, numbers[3], r.code.PerToken, "%q", state)
}

// longestPX is where the scripts cut.
const longestPX = 100_000_000_000_000

// lasts checks that the key stays until nothing is missing, and not for much
// longer.
func (w *served) lasts(r pair) {
	full := w.m.full(r.model)
	gone := big.NewInt((w.m.due + 1) * 1000) // the first µs without the key
	if w.m.due >= w.now/1000+longestPX {
		return
	}
	require.GreaterOrEqual(w.t, gone.Cmp(full), 0, "the key goes at %d, it is full at %d\n%s", gone, full, w)
	slack := big.NewInt(3000 + 2*r.model.unit)
	require.LessOrEqual(w.t, gone.Cmp(slack.Add(slack, full)), 0, "the key stays until %d, it is full at %d\n%s", gone, full, w)
}

func (w *served) cancel(h held) []request {
	w.note("cancel %d of %v at %d", h.n, h.rule.Rate, h.t)
	a := h.got
	s := &a.Rule.Texts
	args := []string{
		s.Generation, s.Gain, s.PerToken, s.Full, s.Unit,
		bucket.Decimal(a.Rule.Ticks(h.n)), bucket.Decimal(max(0, a.Missing-a.Rule.Full)), bucket.Decimal(a.AsOf), "0",
	}
	return []request{{cancelScript, w.key, "", args, func(got reply) {
		before := w.m
		back := w.gave(w.m.cancel(h, w.now))
		ticks := new(big.Rat).Mul(back, whole(a.Rule.PerToken))
		gave := int64(0)
		if len(got.numbers) > 0 { // else it is full, or of another rule
			gave = got.numbers[0]
		}
		require.Zero(w.t, ticks.Cmp(whole(gave)), "gave %d ticks back, not %v\n%s", gave, ticks, w)
		w.stored(before, pair{a.Rule, h.rule}, got)
	}}}
}

func (w *served) blockFor(µs int64) []request {
	w.note("block %dµs", µs)
	args := []string{w.rule.code.Texts.Generation, bucket.Decimal(µs)}
	return []request{{blockScript, w.key, "", args, func(got reply) {
		before := w.m
		till := w.m.setBlock(w.rule.model, w.now, w.now+µs)
		require.Equal(w.t, []int64{till}, got.numbers, "%s", w)
		w.m.due = w.dueOf(got)
		require.GreaterOrEqual(w.t, (w.m.due+1)*1000, till, "%s", w)
		if before.there {
			require.GreaterOrEqual(w.t, w.m.due, before.due, "%s", w)
		}
	}}}
}

func (w *served) setRate(rate Rate, reset bool) []request {
	w.note("set rate %v, reset %v", rate, reset)
	p := w.rule
	if rate != p.code.Rate || reset {
		p = w.change(rate, reset)
	}
	flag := "0"
	if reset {
		flag = "1"
	}
	return []request{{ruleSetScript, w.ruleKey(), "", []string{p.code.Parameters(), flag, "nonce", "-1", "0"}, func(got reply) {
		stored, err := parseRule(got.text)
		require.NoError(w.t, err)
		require.Equal(w.t, got.text, got.state)
		require.Equal(w.t, []int64{p.code.Generation, p.code.Reset}, []int64{stored.Generation, stored.Reset}, "%s", w)
		require.Equal(w.t, rate, stored.Rate)
		require.Equal(w.t, p.code.Texts, stored.Texts)
	}}}
}

func (w *served) ruleKey() string { return fmt.Sprintf("%s:rule%d", w.key, w.lives) }

// goes has the rule gone, and another one created in its place.
func (w *served) goes() []request {
	rate := w.otherRate()
	w.note("the rule goes, and %v comes", rate)
	w.lives++
	p := w.anew(rate)
	const longer = "9000000000000" // ms, than any world lasts
	return []request{{ruleCreateScript, w.ruleKey(), "", []string{p.code.Parameters(), "nonce", longer}, func(got reply) {
		stored, err := parseRule(got.text)
		require.NoError(w.t, err)
		require.Equal(w.t, []int64{w.latest, 0}, []int64{stored.Generation, stored.Reset})
	}}}
}

// create stores the first rule.
func (w *served) create() []request {
	args := []string{w.rule.code.Parameters(), "nonce", "0"}
	return []request{{ruleCreateScript, w.ruleKey(), "", args, func(got reply) {
		stored, err := parseRule(got.text)
		require.NoError(w.t, err)
		require.Equal(w.t, w.latest, stored.Generation)
		require.Equal(w.t, w.latest, stored.Reset)
	}}}
}

// round is one step of each world, in one pipeline, and a second one of what
// the first could not do.
func (l *lab) round(t testing.TB, worlds []*served, next func(*served) []request) {
	var all []request
	var of []*served
	for _, w := range worlds {
		for _, r := range next(w) {
			all, of = append(all, r), append(of, w)
		}
	}
	for len(all) > 0 {
		now := make([]int64, len(all))
		for i, w := range of {
			now[i] = w.now
		}
		for i, got := range l.send(t, now, all) {
			all[i].check(got)
		}
		all, of = nil, nil
		for _, w := range worlds {
			for _, r := range w.later {
				all, of = append(all, r), append(of, w)
			}
			w.later = nil
		}
	}
}

// The scripts decide as exact fractions do, whatever happens to a bucket and
// to the server's clock.
func TestScriptsAgreeWithTheExactModel(t *testing.T) {
	l := newLab(t)
	const seed, worlds = 20261121, 104
	steps := modelSteps(t)
	t.Logf("seed %d, %d steps", seed, steps)
	all := make([]*served, worlds)
	for i := range all {
		w := newWorld(t, seed, uint64(i), modelRates)
		w.back = true
		all[i] = &served{world: w, key: fmt.Sprintf("%s:{%d}", redistest.Name(t), i)}
	}
	l.round(t, all, (*served).create)
	for range steps/worlds + 1 {
		l.round(t, all, (*served).next)
	}
	var n tally
	for _, w := range all {
		n.add(w.tally)
	}
	t.Logf("%+v", n)
	for _, count := range []int{n.granted, n.refused, n.some * 5, n.stale * 50, n.blocked, n.cancelled * 50, n.back, n.changed} {
		require.Greater(t, count, steps/100)
	}
}
