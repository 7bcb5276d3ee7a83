package exchange

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// modelRates have coprime and odd periods, and bursts for each of the units.
var modelRates = []Rate{
	{N: 7, Per: 1_000_000_007, Burst: 7},
	{N: 7, Per: 1_000_000_007, Burst: 1000},
	{N: 7, Per: 1_000_000_007, Burst: 4_400_000},
	{N: 999_983, Per: time.Second, Burst: 100},
	{N: 999_983, Per: time.Second, Burst: 999_983},
	{N: 999_983, Per: time.Second, Burst: 5_000_000_000},     // ms
	{N: 999_983, Per: time.Second, Burst: 1_000_000_000_000}, // ms
	{N: 1_000_000, Per: time.Second, Burst: 10},
	{N: 10_000_000, Per: time.Second, Burst: 3},
	{N: 10_000_000, Per: time.Second, Burst: 10_000_000},
	{N: 3, Per: 30 * 24 * time.Hour, Burst: 3},
	{N: 3, Per: 30 * 24 * time.Hour, Burst: 5000},
	{N: 3, Per: 30 * 24 * time.Hour, Burst: 1_000_000},     // ms
	{N: 3, Per: 30 * 24 * time.Hour, Burst: 1_000_000_000}, // s
	{N: 1, Per: time.Second, Burst: 1},
	{N: 1, Per: time.Second, Burst: 5},
	{N: 1, Per: time.Second, Burst: 10_000_000_000},    // ms
	{N: 5, Per: time.Second, Burst: 1_000_000_000_000}, // ms
	{N: 7, Per: time.Second, Burst: 2_000_000_000_000_000},
	{N: 11, Per: 13 * time.Second, Burst: 100_000_000_000_000}, // s
	{N: 600_000, Per: time.Second, Burst: 600_000},
	{N: 1, Per: 3 * time.Second, Burst: 1},
	{N: 86_400, Per: 24 * time.Hour, Burst: 1},
	{N: 86_400, Per: 24 * time.Hour, Burst: 10_000_000_000},
	{N: 1_000_003, Per: 999_999_937, Burst: 50},
	{N: 13, Per: 17 * time.Nanosecond, Burst: 1000},
}

// pair is one rule as the code and as the model have it.
type pair struct {
	code  *bucket.Rule
	model *modelRule
}

func newPair(t testing.TB, rate Rate, generation, reset int64) pair {
	t.Helper()
	r, err := resolve(rate)
	require.NoError(t, err, "%v", rate)
	p := pair{r.Identify(generation, reset), newModelRule(rate, generation, reset)}
	p.sound(t)
	return p
}

func travellingPair(t testing.TB, rate Rate) pair {
	t.Helper()
	r, err := travelling(rate)
	require.NoError(t, err, "%v", rate)
	p := pair{r, newModelRule(rate, r.Generation, r.Reset)}
	p.sound(t)
	return p
}

func (p pair) sound(t testing.TB) {
	t.Helper()
	gain, token := ticksOf(p.model.Rate, p.model.unit)
	require.Equal(t, []int64{p.model.unit, gain.Int64(), token.Int64()}, []int64{p.code.Unit, p.code.Gain, p.code.PerToken}, "%v", p.code.Rate)
	require.Equal(t, p.model.Burst*token.Int64(), p.code.Full)
	require.GreaterOrEqual(t, p.code.Debt, p.model.Burst)
	p.model.debt = p.code.Debt
	require.Less(t, (p.model.Burst+p.code.Debt+1)*token.Int64()+gain.Int64(), int64(bucket.Exact))
}

// world is one bucket, its clock and its history. All that happens follows from
// the seed.
type world struct {
	t       testing.TB
	name    string
	rng     *rand.Rand
	now     int64 // µs
	latest  int64 // generation
	resets  int64
	rule    pair   // the stored one
	older   []pair // that it replaced
	own     []pair // that travel
	m       model
	held    []held
	history []event
	back    bool // the clock may be set back
	firm    bool // nothing is given back
	tally   tally
	forward int64 // how far the clock has moved forward, µs
	grants  []granted
}

func newWorld(t testing.TB, seed, i uint64, rates []Rate) *world {
	w := &world{
		t: t, name: fmt.Sprintf("seed %d, world %d", seed, i),
		rng: rand.New(rand.NewPCG(seed, i)), now: 1_700_000_000_123_457,
	}
	w.now += w.rng.Int64N(1_000_000_000)
	w.latest, w.resets = w.now, w.now
	w.rule = newPair(t, rates[int(i)%len(rates)], w.latest, w.resets)
	for range 2 {
		w.own = append(w.own, travellingPair(t, rates[w.rng.IntN(len(rates))]))
	}
	return w
}

// happens is true in one of so many cases.
func (w *world) happens(oneIn int) bool { return w.rng.IntN(oneIn) == 0 }

// below is a random number from 0 to n, n excluded unless it is 0.
func (w *world) below(n int64) int64 {
	if n <= 1 {
		return 0
	}
	return w.rng.Int64N(n)
}

const longestStep = 30 * 24 * 3600 * 1_000_000

// µs is the time for some tokens, within what a step may take.
func (w *world) µs(r *modelRule, tokens int64) int64 {
	at := r.instant(0, whole(tokens))
	if !at.IsInt64() {
		return longestStep
	}
	return min(at.Int64(), longestStep)
}

// tally counts what has happened, so that a test knows that it did.
type tally struct{ granted, refused, some, stale, blocked, cancelled, back, changed int }

func (n *tally) count(ok, blocked bool) {
	switch {
	case ok:
		n.granted++
	case blocked:
		n.blocked++
	default:
		n.refused++
	}
}

func (n *tally) add(m tally) {
	n.granted += m.granted
	n.refused += m.refused
	n.some += m.some
	n.stale += m.stale
	n.blocked += m.blocked
	n.cancelled += m.cancelled
	n.back += m.back
	n.changed += m.changed
}

// granted is tokens, and when they may be used, by how far the clock will have
// moved forward then.
type granted struct{ tokens, at int64 }

// tick moves the clock.
func (w *world) tick() {
	before := w.now
	w.move()
	w.forward += max(0, w.now-before)
}

func (w *world) move() {
	r := w.rule.model
	switch w.rng.IntN(16) {
	case 0, 1, 2: // it stands
	case 3:
		w.now++
	case 4:
		w.now += w.below(1000)
	case 5:
		w.now += w.below(3_000_000)
	case 6, 7, 8:
		w.now += w.below(w.µs(r, 5))
	case 9:
		w.now += w.below(w.µs(r, r.Burst) + w.µs(r, r.Burst)/5)
	case 10, 11:
		w.towards()
	case 12:
		if w.m.due > 0 && w.m.due*1000-w.now < longestStep {
			w.now = max(w.now, w.m.due*1000+w.below(4000)-2000)
		}
	case 13:
		w.stepBack()
	default:
		w.now += w.below(w.µs(r, 1+r.Burst/10))
	}
}

// towards goes to where the next tokens come, or just before or behind it.
func (w *world) towards() {
	m := w.m // a look may make a rule known
	v, stale := m.look(w.rule.model, w.now)
	if stale {
		return
	}
	wait := v.from(minus(plus(v.missing, whole(1+w.below(v.Burst))), whole(v.Burst)))
	if wait < longestStep*1000 {
		w.now += max(0, bucket.Micros(wait)+w.rng.Int64N(3)-1)
	}
}

func (w *world) stepBack() {
	if !w.back {
		return
	}
	w.tally.back++
	switch w.rng.IntN(5) {
	case 0:
		w.now -= 1_000_000
	case 1:
		w.now -= 1_000_001
	case 2:
		w.now -= 1_000_000 + w.below(5_000_000)
	default:
		w.now -= w.below(1_000_000)
	}
}

// batch is some calls by one rule.
func (w *world) batch(r pair) batch {
	if w.happens(2) { // what the lean script is for
		one := Ask{Want: bucket.Want{Rule: r.code, N: w.tokens(r), Kind: bucket.Take}}
		if w.happens(4) {
			one.N, one.UpTo = 1, min(one.N, (bucket.Exact-1))
		}
		if w.happens(20) {
			one.Extra = 1 + w.below(10)
		}
		return w.calls(one, 1+w.rng.IntN(4))
	}
	var b batch
	debt := w.debt(r)
	for range 1 + w.rng.IntN(4) {
		b = append(b, w.calls(w.ask(r, debt), 1+w.rng.IntN(3))...)
	}
	return b[:cut(b)]
}

func (w *world) calls(one Ask, n int) (b batch) {
	for range n {
		b = append(b, &call{Ask: one})
	}
	return b
}

// mono is the process' clock.
func (w *world) mono() time.Duration { return time.Duration(w.now) * time.Microsecond }

func (w *world) ask(r pair, debt int64) Ask {
	a := Ask{Want: bucket.Want{Rule: r.code, N: w.tokens(r), Kind: bucket.Kind(w.rng.IntN(5))}}
	if w.firm && a.Kind == bucket.Refund {
		a.Kind = bucket.Take
	}
	switch a.Kind {
	case bucket.Take:
		if w.happens(3) {
			a.N, a.UpTo = 1, min(a.N, (bucket.Exact-1))
		}
	case bucket.Peek:
		a.N = 1
	case bucket.Charge:
		a.Debt = debt
		if w.happens(3) {
			a.N = 1 + w.below(2*r.code.Burst)
		}
	case bucket.Reserve:
		a.Debt, a.Until = debt, w.until(r, a.N)
	}
	return a
}

func (w *world) debt(r pair) int64 {
	switch w.rng.IntN(4) {
	case 0:
		return 1
	case 1:
		return min(r.code.Debt, 1+r.code.Burst/2)
	case 2:
		return min(r.code.Debt, 3*r.code.Burst)
	}
	return r.code.Debt
}

func (w *world) tokens(r pair) int64 {
	burst := r.code.Burst
	switch w.rng.IntN(12) {
	case 0:
		return burst
	case 1:
		return burst + 1
	case 2:
		return 1 + burst/3
	case 3, 4:
		return 1 + w.below(burst)
	case 5:
		return 1 + w.below(min(5, burst))
	case 6:
		if w.happens(10) {
			return 1 << 60
		}
	}
	if burst > 1000 && w.happens(2) {
		return 1 + burst/7
	}
	return 1
}

// until is a deadline, often the very one that decides.
func (w *world) until(r pair, n int64) time.Duration {
	switch w.rng.IntN(6) {
	case 0, 1:
		return Forever
	case 2:
		return w.mono() + time.Duration(w.below(w.µs(r.model, 5)))*time.Microsecond
	case 3:
		return w.mono()
	}
	m := w.m
	v, stale := m.look(r.model, w.now)
	if stale {
		return Forever
	}
	wait := v.from(minus(plus(v.missing, whole(n)), whole(v.Burst)))
	if wait > Forever/2 {
		return Forever
	}
	return w.mono() + max(0, wait+time.Duration(w.rng.IntN(3)-1)*time.Microsecond)
}

// change replaces the stored rule.
func (w *world) change(rate Rate, reset bool) pair {
	w.tally.changed++
	w.older = append(w.older, w.rule)
	w.latest = max(w.now, w.latest+1)
	switch {
	case reset:
		w.resets = w.latest
	case w.resets == 0: // what is set anew forgives debt
		w.resets = 1
	}
	w.rule = newPair(w.t, rate, w.latest, w.resets)
	return w.rule
}

// anew replaces the stored rule by one that knows of none before.
func (w *world) anew(rate Rate) pair {
	w.tally.changed++
	w.older = append(w.older, w.rule)
	w.latest, w.resets = w.now, 0
	w.rule = newPair(w.t, rate, w.latest, w.resets)
	return w.rule
}

// otherRate is another rule, or the same one with another burst.
func (w *world) otherRate() Rate {
	if other := w.rule.code.Rate.WithBurst(1 + w.below(2*w.rule.code.Burst)); w.happens(2) && newModelRule(other, 0, 0) != nil {
		return other
	}
	return modelRates[w.rng.IntN(len(modelRates))]
}

// gave counts a cancelled reservation of which something came back.
func (w *world) gave(back *big.Rat) *big.Rat {
	if back.Sign() > 0 {
		w.tally.cancelled++
	}
	return back
}

// which is the rule of the next calls: mostly the stored one.
func (w *world) which() pair {
	switch {
	case w.happens(20):
		return w.own[w.rng.IntN(len(w.own))]
	case w.happens(40) && len(w.older) > 0:
		return w.older[len(w.older)-1]
	}
	return w.rule
}

// event is something that happened in a world. It is put into words when a test
// fails.
type event struct {
	now    int64
	format string
	args   []any
}

// note keeps what happened, for the message of a failure.
func (w *world) note(format string, args ...any) {
	if len(w.history) == 40 {
		w.history = append(w.history[:0], w.history[1:]...)
	}
	w.history = append(w.history, event{w.now, format, args})
}

// String is the world's last steps.
func (w *world) String() string {
	text := fmt.Sprintf("%s, %v, clock %d", w.name, w.rule.code.Rate, w.now)
	for _, e := range w.history {
		text += fmt.Sprintf("\n%d: ", e.now) + fmt.Sprintf(e.format, e.args...)
	}
	return text
}

// told is what one call has to hear.
type toldCall struct {
	ok      bool
	taken   int64 // of an ask for up to some
	missing *big.Rat
	t       int64
	extra   int64
	decided Decision
	delay   time.Duration
}

// play has the model decide about a batch, one call after the other. What is
// given back comes first. It is stale if a newer rule has decided already.
func (w *world) play(r pair, b batch) (told []toldCall, stale bool) {
	by := *r.model
	v, stale := w.m.look(&by, w.now)
	if stale {
		w.tally.stale++
		return nil, true
	}
	extra, refused := int64(0), false
	for _, c := range b {
		if c.Ask.Kind == bucket.Refund {
			v.credit(whole(c.Ask.N))
		}
		extra = max(extra, c.Ask.Extra)
	}
	for _, c := range b {
		told = append(told, w.playOne(v, c.Ask))
		one := &told[len(told)-1]
		refused = refused || c.Ask.Counts() && !one.ok || one.taken < c.Ask.UpTo
	}
	for i := range extra {
		if refused || !v.grant(Ask{Want: bucket.Want{N: 1}}, w.mono()) {
			break
		}
		told[0].extra = i + 1
	}
	w.m.save(v)
	return told, false
}

func (w *world) playOne(v *view, a Ask) toldCall {
	one := toldCall{ok: true}
	switch a.Kind {
	case bucket.Refund:
	case bucket.Peek:
		one.ok = v.block == 0 && plus(v.missing, whole(a.N)).Cmp(whole(v.Burst)) <= 0
	case bucket.Take:
		n := a.N
		if a.UpTo > 0 {
			one.taken = min(a.UpTo, v.remaining())
			n = max(1, one.taken)
		}
		one.ok = v.grant(Ask{Want: bucket.Want{N: n}}, w.mono())
		w.tally.count(one.ok, v.block > 0)
		if one.taken > 0 && one.taken < a.UpTo {
			w.tally.some++
		}
	default:
		one.ok = v.grant(a, w.mono())
		w.tally.count(one.ok, v.block > 0)
	}
	one.missing, one.t, one.decided, one.delay = v.missing, v.t, v.decision(one.ok, a.N), v.delay()
	return one
}

// compare holds the code's answers against the model's.
func (w *world) compare(r pair, b batch, told []toldCall) {
	for i, c := range b {
		want, got := told[i], c.Answer
		missing := new(big.Rat).SetFrac64(got.Missing, r.code.PerToken)
		if got.Late > 0 && want.t < got.AsOf && want.ok == got.OK && (!got.OK || c.Ask.Kind != bucket.Reserve) {
			// A reservation behind it in the batch moved the bucket to the end of a
			// block: what it said before that is not told.
			w.remember(r, c, want)
			continue
		}
		same := want.ok == got.OK && (want.taken == got.Taken || c.Ask.UpTo == 0) && want.missing.Cmp(missing) == 0 && (want.t == got.AsOf || w.m.own && got.Missing == 0) && want.extra == got.Extra && r.code.Generation == got.Rule.Generation
		decided := got.decision(c.Ask.N)
		if c.Ask.N > bucket.Exact/r.code.PerToken { // that many cannot be counted, nor ever be there
			decided.RetryAfter = want.decided.RetryAfter
		}
		if same && decided == want.decided && (!got.OK || c.Ask.Kind != bucket.Reserve || got.Delay() == want.delay) {
			w.remember(r, c, want)
			continue
		}
		require.Failf(w.t, "the model differs", "call %d %s\nmodel %v missing %v at %d extra %d delay %v %+v\ncode  %v missing %v at %d extra %d delay %v late %d %+v\n%s",
			i, describe(c.Ask, w.mono()), want.ok, want.missing, want.t, want.extra, want.delay, want.decided,
			got.OK, missing, got.AsOf, got.Extra, got.Delay(), got.Late, got.decision(c.Ask.N), w)
	}
}

// remember keeps what was granted, and reservations, so that they can be
// cancelled.
func (w *world) remember(r pair, c *call, told toldCall) {
	if told.extra > 0 {
		w.grants = append(w.grants, granted{told.extra, w.forward})
	}
	if told.ok && (c.Ask.Kind == bucket.Take || c.Ask.Kind == bucket.Reserve) {
		w.grants = append(w.grants, granted{max(c.Ask.N, told.taken), w.forward + bucket.Micros(c.Answer.Delay())})
	}
	if c.Ask.Kind != bucket.Reserve || !told.ok {
		return
	}
	if len(w.held) == 20 {
		w.held = w.held[1:]
	}
	w.held = append(w.held, held{c.Ask.N, r.model, told.missing, told.t, c.Answer})
}

// release is a reservation that has not been cancelled.
func (w *world) release() (h held, ok bool) {
	if len(w.held) == 0 {
		return held{}, false
	}
	i := len(w.held) - 1 - w.rng.IntN(min(4, len(w.held)))
	h = w.held[i]
	w.held = append(w.held[:i:i], w.held[i+1:]...)
	return h, true
}

// wish is what a batch asks for, in words.
type wish struct {
	b    batch
	mono time.Duration
}

func (s wish) String() string {
	var all []string
	for _, c := range s.b {
		all = append(all, describe(c.Ask, s.mono))
	}
	return strings.Join(all, "; ")
}

func describe(a Ask, mono time.Duration) string {
	text := fmt.Sprintf("%s %d", []string{"take", "reserve", "charge", "refund", "peek"}[a.Kind], a.N)
	if a.Kind == bucket.Reserve {
		text += fmt.Sprintf(" wait %dµs", a.Wait(mono))
	}
	if a.Debt > 0 {
		text += fmt.Sprintf(" debt %d", a.Debt)
	}
	if a.UpTo > 0 {
		text += fmt.Sprintf(" up to %d", a.UpTo)
	}
	if a.Extra > 0 {
		text += fmt.Sprintf(" extra %d", a.Extra)
	}
	return text
}
