package ratelimiter_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// hand sends the scripts of the token bucket by hand, to one rule and one
// bucket. The rule is ten tokens an hour, counted in seconds: a tick is a
// token's 360th part.
type hand struct {
	t          *testing.T
	raw        rueidis.Client
	name, rule string
	state      string
}

const (
	handRule  = "10 3600000000000 10 0"
	otherRule = "20 3600000000000 20 0"
)

// handTicks are gain, ticks per token, ticks when full, and the unit.
var handTicks = []string{"10", "3600", "36000", "1000000"}

func newHand(t *testing.T) *hand {
	name := redistest.Name(t)
	return &hand{t: t, raw: redistest.Shared(t).Client(t), name: name, rule: name, state: keys.Bucket(name)}
}

func (h *hand) eval(script string, on []string, args ...string) string {
	h.t.Helper()
	res := h.raw.Do(context.Background(), h.raw.B().Eval().Script(scriptText(h.t, script)).Numkeys(int64(len(on))).Key(on...).Arg(args...).Build())
	if rueidis.IsRedisNil(res.Error()) {
		return "nil"
	}
	require.NoError(h.t, res.Error())
	msg, err := res.ToMessage()
	require.NoError(h.t, err)
	if numbers, err := msg.AsIntSlice(); err == nil {
		var parts []string
		for _, n := range numbers {
			parts = append(parts, strconv.FormatInt(n, 10))
		}
		return strings.Join(parts, " ")
	}
	if n, err := msg.AsInt64(); err == nil {
		return strconv.FormatInt(n, 10)
	}
	text, err := msg.ToString()
	require.NoError(h.t, err)
	return text
}

func (h *hand) create(nonce string) string {
	return h.eval("rule_create", []string{h.rule}, handRule, nonce, "0")
}
func (h *hand) set(rule, reset, nonce string) string {
	return h.eval("rule_set", []string{h.rule}, rule, reset, nonce, "-1", "10000")
}
func (h *hand) read() string           { return h.eval("rule_read", []string{h.rule}) }
func (h *hand) pause(on string) string { return h.eval("rule_pause", []string{h.rule}, on) }
func (h *hand) remove() string         { return h.eval("rule_delete", []string{h.rule, h.state}) }

func (h *hand) reset() string { return h.eval("reset", []string{h.state}) }

func (h *hand) take() string {
	h.t.Helper()
	return h.eval("take", []string{h.state}, bucket.Pack(h.number(), 10, 3600, 36000, 1_000_000, 3600, 1))
}

func (h *hand) charge() string {
	h.t.Helper()
	g := h.generation()
	return h.eval("decide", []string{h.state}, slices.Concat([]string{g, g}, handTicks, []string{"36000", "0", "1", "-1", "3600"})...)
}

// owe makes that many tokens missing now.
func (h *hand) owe(tokens int) {
	h.t.Helper()
	now, err := serverTime(h.raw)
	require.NoError(h.t, err)
	state := bucket.Pack(h.number(), now-now%1_000_000, int64(tokens), 0)
	require.NoError(h.t, h.raw.Do(context.Background(), h.raw.B().Set().Key(h.state).Value(state).Build()).Error())
}

// cancel gives back two of the tokens that owe has made missing, the last five
// of which were waited for.
func (h *hand) cancel() string {
	h.t.Helper()
	at := strconv.FormatInt(bucket.Unpack(h.get(h.state), 1), 10)
	return h.eval("cancel", []string{h.state}, slices.Concat([]string{h.generation()}, handTicks, []string{"7200", "18000", at})...)
}

// generation is that of the stored rule.
func (h *hand) generation() string { return strings.Fields(h.read())[1] }

func (h *hand) number() int64 {
	h.t.Helper()
	n, err := strconv.ParseInt(h.generation(), 10, 64)
	require.NoError(h.t, err)
	return n
}

func (h *hand) get(key string) string {
	h.t.Helper()
	text, err := h.raw.Do(context.Background(), h.raw.B().Get().Key(key).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "nil"
	}
	require.NoError(h.t, err)
	return text
}

// A script that says of itself that it may be sent again leaves everything as
// it is when it runs twice, or late.
func TestASafeScriptMayRunTwiceAndLate(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ before, late func(h *hand) }{
		"create, at once": {
			func(h *hand) { require.True(h.t, strings.HasSuffix(h.create("n"), " n")) },
			func(h *hand) { require.True(h.t, strings.HasSuffix(h.create("n"), " n"), "it was its own") },
		},
		"create, after a change": {
			func(h *hand) { h.create("n"); h.set(otherRule, "0", "m") },
			func(h *hand) { require.True(h.t, strings.HasSuffix(h.create("n"), " m")) },
		},
		"create, after a pause": {
			func(h *hand) { h.create("n"); h.pause("1") },
			func(h *hand) { require.True(h.t, strings.HasSuffix(h.create("n"), " 1 n")) },
		},
		"create, after another's create": {
			func(h *hand) { h.create("n"); h.remove(); h.create("m") },
			func(h *hand) { require.True(h.t, strings.HasSuffix(h.create("n"), " m")) },
		},
		"read": {
			func(h *hand) { h.create("n"); h.read() },
			func(h *hand) { h.read() },
		},
		"read of nothing": {
			func(h *hand) { require.Equal(h.t, "nil", h.read()) },
			func(h *hand) { require.Equal(h.t, "nil", h.read()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHand(t)
			of.before(h)
			rule, state := h.get(h.rule), h.get(h.state)
			of.late(h)
			assert.Equal(t, rule, h.get(h.rule))
			assert.Equal(t, state, h.get(h.state))
		})
	}
}

// Those that say "once" or "unsafe" say so for a reason: a late second run changes what
// has happened since. Were it not so, they should be sent again.
func TestAnUnsafeScriptThatRunsTwiceChangesSomething(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ before, late func(h *hand) }{
		"take":           {func(h *hand) { h.take() }, func(h *hand) { h.take() }},
		"charge":         {func(h *hand) { h.charge() }, func(h *hand) { h.charge() }},
		"cancel":         {func(h *hand) { h.owe(15); h.cancel() }, func(h *hand) { h.cancel() }},
		"reset":          {func(h *hand) { h.reset(); h.take() }, func(h *hand) { h.reset() }},
		"set":            {func(h *hand) { h.set(otherRule, "0", "m"); h.set(handRule, "0", "o") }, func(h *hand) { h.set(otherRule, "0", "m") }},
		"pause":          {func(h *hand) { h.pause("1"); h.pause("0") }, func(h *hand) { h.pause("1") }},
		"delete":         {func(h *hand) { h.remove(); h.create("m") }, func(h *hand) { h.remove() }},
		"delete, bucket": {func(h *hand) { h.remove(); h.create("m"); h.take() }, func(h *hand) { h.remove() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHand(t)
			h.create("n")
			of.before(h)
			before := h.get(h.rule) + h.get(h.state)
			of.late(h)
			assert.NotEqual(t, before, h.get(h.rule)+h.get(h.state))
		})
	}
}

// A rule that replaces another is always the newer one, whatever the clock says.
func TestAGenerationNeverGoesBack(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.create("n")
	future := strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10)
	require.NoError(t, h.raw.Do(t.Context(), h.raw.B().Set().Key(h.rule).Value("tb1 "+future+" "+future+" "+handRule+" 0 n").Build()).Error())
	for i, reset := range []string{"0", "1", "0"} {
		before, err := strconv.ParseInt(h.generation(), 10, 64)
		require.NoError(t, err)
		h.set(fmt.Sprintf("%d 3600000000000 10 0", 20+i), reset, "m")
		fields := strings.Fields(h.read())
		after, err := strconv.ParseInt(fields[1], 10, 64)
		require.NoError(t, err)
		require.Equal(t, before+1, after)
		if reset == "1" {
			require.Equal(t, fields[1], fields[2], "all that is older is full")
		}
	}
}

// A state lives for as long as it says more than its absence.
func TestABucketGoesWhenItIsFullAgain(t *testing.T) {
	t.Parallel()
	const token = time.Hour / faultyBurst
	for name, of := range map[string]struct {
		do   func(ctx context.Context, b *ratelimiter.Bucket) error
		full time.Duration
	}{
		"take":           {func(_ context.Context, b *ratelimiter.Bucket) error { return allowed(b) }, 3 * token},
		"charge":         {func(ctx context.Context, b *ratelimiter.Bucket) error { _, err := b.Charge(ctx, 9); return err }, 11 * token},
		"refund":         {func(ctx context.Context, b *ratelimiter.Bucket) error { return b.Refund(ctx, 1) }, token},
		"a longer block": {func(ctx context.Context, b *ratelimiter.Bucket) error { return b.Block(ctx, time.Hour) }, time.Hour},
		"a short block":  {func(ctx context.Context, b *ratelimiter.Bucket) error { return b.Block(ctx, time.Second) }, 2 * token},
		"cancel": {func(ctx context.Context, b *ratelimiter.Bucket) error {
			r, err := b.ReserveN(ctx, 9)
			if err != nil {
				return err
			}
			return r.Cancel(ctx)
		}, 2 * token},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t)
			f.took(2)
			require.NoError(t, of.do(t.Context(), f.direct))
			ms, err := f.raw.Do(t.Context(), f.raw.B().Pttl().Key(f.stateKey()).Build()).AsInt64()
			require.NoError(t, err)
			left := time.Duration(ms) * time.Millisecond
			assert.LessOrEqual(t, left, of.full+time.Second)
			assert.Greater(t, left, of.full-10*time.Second)
		})
	}
}

func TestARefundOfEverythingLeavesNoState(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.took(2)
	require.NoError(t, f.direct.Refund(t.Context(), 3))
	n, err := f.raw.Do(t.Context(), f.raw.B().Exists().Key(f.stateKey()).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, n)
}

// A bucket that was empty at a change to a slower rate fills by that one, also
// if it has only refused since.
func TestARefusalAfterAChangeOutlastsTheOldRate(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	l := limited(t, open(t, s.Addr()), ratelimiter.PerMinute(1))
	gets(t, &l.Bucket, 1)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(1)))
	isRefused(t, &l.Bucket, 1)
	raw := s.Client(t)
	ms, err := raw.Do(t.Context(), raw.B().Pttl().Key(keys.Bucket(l.Name())).Build()).AsInt64()
	require.NoError(t, err)
	assert.Greater(t, ms, (58 * time.Minute).Milliseconds())
}
