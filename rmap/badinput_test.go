package rmap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// operations is every operation, with a key and a value where it takes them.
var operations = map[string]func(ctx context.Context, m *Map[string, int], k string, v int) error{
	"get": func(ctx context.Context, m *Map[string, int], k string, _ int) error {
		_, _, err := m.Get(ctx, k)
		return err
	},
	"get many": func(ctx context.Context, m *Map[string, int], k string, _ int) error {
		_, err := m.GetMany(ctx, k)
		return err
	},
	"has": func(ctx context.Context, m *Map[string, int], k string, _ int) error {
		_, err := m.Has(ctx, k)
		return err
	},
	"len": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		_, err := m.Len(ctx)
		return err
	},
	"put": func(ctx context.Context, m *Map[string, int], k string, v int) error { return m.Put(ctx, k, v) },
	"put many": func(ctx context.Context, m *Map[string, int], k string, v int) error {
		return m.PutMany(ctx, map[string]int{k: v})
	},
	"swap": func(ctx context.Context, m *Map[string, int], k string, v int) error {
		_, _, err := m.Swap(ctx, k, v)
		return err
	},
	"remove": func(ctx context.Context, m *Map[string, int], k string, _ int) error {
		_, err := m.Remove(ctx, k)
		return err
	},
	"clear": func(ctx context.Context, m *Map[string, int], _ string, _ int) error { return m.Clear(ctx) },
	"put if absent": func(ctx context.Context, m *Map[string, int], k string, v int) error {
		_, _, err := m.PutIfAbsent(ctx, k, v)
		return err
	},
	"replace": func(ctx context.Context, m *Map[string, int], k string, v int) error {
		_, err := m.Replace(ctx, k, v)
		return err
	},
	"take": func(ctx context.Context, m *Map[string, int], k string, _ int) error {
		_, _, err := m.Take(ctx, k)
		return err
	},
	"compare and swap": func(ctx context.Context, m *Map[string, int], k string, v int) error {
		_, err := m.CompareAndSwap(ctx, k, v, v)
		return err
	},
	"compare and remove": func(ctx context.Context, m *Map[string, int], k string, v int) error {
		_, err := m.CompareAndRemove(ctx, k, v)
		return err
	},
	"compute": func(ctx context.Context, m *Map[string, int], k string, _ int) error {
		_, _, err := m.Compute(ctx, k, increment)
		return err
	},
	"add": func(ctx context.Context, m *Map[string, int], k string, v int) error {
		_, err := Add(ctx, m, k, v)
		return err
	},
	"all": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		for _, err := range m.All(ctx) {
			return err
		}
		return nil
	},
	"keys": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		for _, err := range m.Keys(ctx) {
			return err
		}
		return nil
	},
	"lock": func(ctx context.Context, m *Map[string, int], k string, _ int) error {
		if ctx == nil {
			ctx = context.Background() //nolint:staticcheck // the lock's own tests have that
			if m.m.Bad == nil {
				return ErrInvalidArgument
			}
		}
		hold, err := m.Lock(k).Lock(ctx)
		if err == nil {
			err = hold.Unlock(ctx)
		}
		return err
	},
	"delete": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		_, err := m.Delete(ctx)
		return err
	},
	"exists": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		_, err := m.Exists(ctx)
		return err
	},
	"expire": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		_, err := m.Expire(ctx, time.Hour)
		return err
	},
	"persist": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		_, err := m.Persist(ctx)
		return err
	},
	"remaining": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		_, err := m.Remaining(ctx)
		return err
	},
	"rename": func(ctx context.Context, m *Map[string, int], _ string, _ int) error {
		_, err := m.Rename(ctx, keys.Prefix("new", m.Name()))
		return err
	},
}

// keyed are those that take a key.
var keyed = strings.Fields("get has put swap remove replace take compute add lock")

func TestWhatCannotBeUsedIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := maptest.Through(t, server)
	e := maptest.EngineOn(t, client, func(c *core.Config) { c.MaxValue = 1000 })
	proxy.ResetLog()
	good := New[string, int](e, "m", WithCodec(codec.Text))
	for name, op := range operations {
		var none context.Context
		require.ErrorIs(t, op(none, good, "k", 1), ErrInvalidArgument, name)
		for what, bad := range map[string]*Map[string, int]{
			"empty name":      New[string, int](e, ""),
			"a nil option":    New[string, int](e, "m", nil),
			"no codec family": New[string, int](e, "m", WithCodec(codec.Family{})),
			"nil codec":       New[string, int](e, "m", WithValueCodec[int](nil)),
			"another type":    New[string, int](e, "m", WithValueCodec(codec.For[string](codec.Text))),
		} {
			require.ErrorIs(t, op(t.Context(), bad, "k", 1), ErrInvalidArgument, "%s: %s", name, what)
		}
	}
	for _, name := range keyed {
		for _, k := range []string{"\xff", strings.Repeat("k", 1001)} {
			require.ErrorIs(t, operations[name](t.Context(), good, k, 1), ErrInvalidArgument, "%s %.4q", name, k)
		}
	}
	for _, opt := range []PutOption{WithTTL(time.Hour), WithKeepTTL(), nil} {
		require.ErrorIs(t, good.Put(t.Context(), "k", 1, opt), ErrInvalidArgument)
	}
	for _, d := range []time.Duration{0, -1, time.Microsecond, core.LongestLease + 1} {
		_, err := good.Expire(t.Context(), d)
		require.ErrorIs(t, err, ErrInvalidArgument)
		if d != 0 {
			require.ErrorIs(t, NewTTLMap[string, int](e, "m").Put(t.Context(), "k", 1, WithTTL(d)), ErrInvalidArgument)
		}
	}
	for _, opt := range []ScanOption{WithPage(0), WithPage(hashscan.MostPage + 1), nil} {
		for _, err := range good.All(t.Context(), opt) {
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
	}
	for _, err := range New[[2]byte, int](e, "m", WithKeyCodec(codec.For[[2]byte](codec.Bytes))).All(t.Context(), WithMatch("a*")) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err := good.Rename(t.Context(), "")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, _, err = good.Compute(t.Context(), "k", nil)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = Add(t.Context(), New[string, float64](e, "m", WithCodec(codec.Text)), "k", math.NaN())
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = Add(t.Context(), New[string, uint64](e, "m", WithCodec(codec.Text)), "k", 1<<63)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = Add(t.Context(), New[string, int](e, "m"), "k", 1)
	require.ErrorIs(t, err, ErrInvalidArgument, "msgpack is no text")
	require.ErrorIs(t, New[string, *int](e, "m").Put(t.Context(), "k", nil), ErrInvalidArgument)
	require.ErrorIs(t, New[string, any](e, "m").Put(t.Context(), "k", nil), ErrInvalidArgument)
	require.ErrorIs(t, New[float64, int](e, "m").Put(t.Context(), 1, 1), ErrInvalidArgument)
	require.ErrorIs(t, New[any, int](e, "m").Put(t.Context(), 1, 1), ErrInvalidArgument)
	require.ErrorIs(t, New[string, []byte](e, "m").Put(t.Context(), "k", make([]byte, 1001)), ErrInvalidArgument)
	require.Zero(t, proxy.Count(redistest.Arg("m")), "nothing was sent")
}

func TestAVerdictThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t)
	_, _, err := m.Compute(t.Context(), "k", func(int, bool) (int, Verdict, error) { return 1, 3, nil })
	require.ErrorIs(t, err, ErrInvalidArgument)
}

func TestEmptyKeysAndValuesAreSome(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := New[string, []byte](maptest.EngineOn(t, raw), maptest.Named(t, raw))
	require.NoError(t, m.Put(t.Context(), "", nil))
	v, there, err := m.Get(t.Context(), "")
	require.NoError(t, err)
	require.True(t, there)
	require.Empty(t, v)
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	t.Parallel()
	m, e := fresh(t, WithCodec(codec.Text))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	for name, op := range operations {
		err := op(ctx, m, "k", 1)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, assert.AnError, name)
		require.NotErrorIs(t, err, ErrOutcomeUnknown, name)
	}
	require.NoError(t, locking.Close(t.Context(), e))
	for name, op := range operations {
		require.ErrorIs(t, op(t.Context(), m, "k", 1), ErrClosed, name)
	}
}

func TestAKeyOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		m := New[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), WithCodec(codec.Text))
		ids := New[string, int](maptest.EngineOn(t, raw), m.Name(), WithCodec(codec.Text), WithRequestIDs())
		// What is done to the whole key works whatever it is.
		whole := map[string]bool{"clear": true, "delete": true, "exists": true, "expire": true, "persist": true, "remaining": true, "rename": true, "lock": true}
		for name, op := range operations {
			if whole[name] {
				continue
			}
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(m.Name()).Value("text").Build()).Error())
			for _, m := range []*Map[string, int]{m, ids} {
				err := op(t.Context(), m, "k", 1)
				require.ErrorContains(t, err, fmt.Sprintf("%q", m.Name()), name)
				require.ErrorContains(t, err, "no hash", name)
				require.NotErrorIs(t, err, ErrOutcomeUnknown, name)
			}
			text, err := raw.Do(t.Context(), raw.B().Get().Key(m.Name()).Build()).ToString()
			require.NoError(t, err)
			require.Equal(t, "text", text)
		}
	})
}

// TestWhatDoesNotDecodeIsNamed: the others are read.
func TestWhatDoesNotDecodeIsNamed(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t)
	raw := m.m.Hub.Engine.Redis
	require.NoError(t, m.PutMany(t.Context(), map[string]int{"a": 1, "b": 2}))
	require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(m.Name()).FieldValue().FieldValue("bad", "\xc1secret").Build()).Error())
	check := func(err error) {
		t.Helper()
		var undecoded *codec.DecodeError
		require.ErrorIs(t, err, ErrDecode)
		require.ErrorAs(t, err, &undecoded)
		require.Equal(t, m.Name(), undecoded.Name)
		require.Equal(t, "bad", undecoded.Key)
		require.Equal(t, []byte("\xc1secret"), undecoded.Bytes)
		require.NotContains(t, err.Error(), "secret")
	}
	_, there, err := m.Get(t.Context(), "bad")
	require.True(t, there)
	check(err)
	got, err := m.GetMany(t.Context(), "a", "bad", "b")
	check(err)
	require.Equal(t, map[string]int{"a": 1, "b": 2}, got)
	walked, wrong := 0, 0
	for _, err := range m.All(t.Context()) {
		if walked++; err != nil {
			wrong++
			check(err)
		}
	}
	require.Equal(t, []int{3, 1}, []int{walked, wrong})
	_, _, err = m.Compute(t.Context(), "bad", increment)
	check(err)
	_, _, err = m.PutIfAbsent(t.Context(), "bad", 1)
	check(err)
	_, had, err := m.Swap(t.Context(), "bad", 1)
	require.True(t, had)
	check(err)
	n, _, err := m.Get(t.Context(), "bad")
	require.NoError(t, err, "it was written")
	require.Equal(t, 1, n)
}

func TestAKeyIsShownInPart(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t, WithCodec(codec.Text))
	long := string(bytes.Repeat([]byte("k"), 1000))
	_, _, err := m.Compute(t.Context(), long, func(int, bool) (int, Verdict, error) { return 0, Keep, errors.New("why") })
	require.ErrorContains(t, err, `compute "kkk`)
	require.Less(t, len(err.Error()), 300)
}
