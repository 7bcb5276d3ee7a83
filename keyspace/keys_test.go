package keyspace

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// prefix is a name mapper.
func prefix(text string) func(*core.Config) {
	return func(c *core.Config) { c.MapName = func(name string) string { return text + name } }
}

// fill makes n keys whose names begin with a text of this test alone, and returns the names.
func fill(t testing.TB, raw rueidis.Client, n int) (begin string, names []string) {
	t.Helper()
	begin = redistest.Name(t) + ":"
	names = make([]string, n)
	cmds := make(rueidis.Commands, n)
	for i := range n {
		names[i] = begin + strconv.Itoa(i)
		cmds[i] = raw.B().Set().Key(names[i]).Value("v").Build()
	}
	for part := range slices.Chunk(cmds, 1000) {
		for _, got := range raw.DoMulti(t.Context(), part...) {
			require.NoError(t, got.Error())
		}
	}
	t.Cleanup(func() {
		for _, name := range names {
			raw.Do(context.Background(), raw.B().Del().Key(name).Build())
		}
	})
	slices.Sort(names)
	return begin, names
}

// listed returns the names that a walk yields, each once.
func listed(t testing.TB, k *Keys, opts ...WalkOption) []string {
	t.Helper()
	all := map[string]bool{}
	for name, err := range k.All(t.Context(), opts...) {
		require.NoError(t, err)
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func number(t testing.TB, want int) func(n int64, err error) {
	return func(n int64, err error) { t.Helper(); require.NoError(t, err); require.EqualValues(t, want, n) }
}

func TestEachOperation(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { eachOperation(t, raw) })
}

func eachOperation(t *testing.T, raw rueidis.Client) {
	t.Helper()
	k, ctx := New(enginetest.On(t, raw)), t.Context()
	begin, names := fill(t, raw, 2500)
	require.Equal(t, names, listed(t, k, WithMatch(begin+"*")))
	require.Equal(t, names, slices.DeleteFunc(listed(t, k), func(name string) bool { return !strings.HasPrefix(name, begin) }))
	number(t, 2500)(k.CountMatch(ctx, begin+"*"))
	number(t, 10)(k.CountMatch(ctx, begin+"[0-9]"))
	n, err := k.Count(ctx)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, int64(2500))

	number(t, 2500)(k.Exists(ctx, append(names, names[0], begin+"none")...))
	number(t, 2500)(k.Touch(ctx, append(names, begin+"none")...))
	number(t, 2)(k.Expire(ctx, time.Hour, names[0], names[1], begin+"none"))
	require.Greater(t, redistest.Left(t, raw, names[1]), 50*time.Minute)
	number(t, 0)(k.Delete(ctx))

	redistest.Do(t, raw, "DEL", names[0])
	redistest.Do(t, raw, "SADD", names[0], "m")
	is, err := k.Type(ctx, names[0])
	require.NoError(t, err)
	require.Equal(t, Set, is)
	is, err = k.Type(ctx, begin+"none")
	require.NoError(t, err)
	require.Equal(t, None, is)
	require.Equal(t, names[:1], listed(t, k, WithMatch(begin+"*"), WithType(Set)))
	require.Len(t, listed(t, k, WithMatch(begin+"*"), WithType(String)), 2499)

	number(t, 10)(k.DeleteMatch(ctx, begin+"[0-9]", WithPace(0.5)))
	number(t, 2490)(k.Exists(ctx, names...))
	number(t, 1000)(k.Delete(ctx, listed(t, k, WithMatch(begin+"1???"))...))
	number(t, 1490)(k.DeleteMatch(ctx, begin+"*"))
	number(t, 0)(k.CountMatch(ctx, begin+"*"))
}

// TestANameMapper sees its own keys, by their names, and never another's.
func TestANameMapper(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx := t.Context()
		begin := redistest.Name(t) + `[ab]*?\:` // which has what means something in patterns
		others := []string{strings.ReplaceAll(begin, "[ab]", "a") + "x", begin, "x" + begin + "x"}
		for _, key := range append(others, begin+"x", begin+"y", begin+"y*") {
			redistest.Do(t, raw, "SET", key, "v")
			t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(key).Build()) })
		}
		k := New(enginetest.Plain(t, raw, prefix(begin)))
		require.Equal(t, []string{"x", "y", "y*"}, listed(t, k))
		require.Equal(t, []string{"y", "y*"}, listed(t, k, WithMatch("y*")))
		require.Equal(t, []string{"y*"}, listed(t, k, WithMatch(`y\*`)))
		number(t, 3)(k.Count(ctx))
		number(t, 1)(k.CountMatch(ctx, `?\*`))
		number(t, 2)(k.Exists(ctx, "x", "y", begin+"x"))
		_, err := k.DeleteMatch(ctx, "*")
		require.ErrorIs(t, err, ErrInvalidArgument)
		number(t, 3)(k.Count(ctx))
		number(t, 3)(k.DeleteMatch(ctx, "*", WithEverything()))
		for _, key := range others {
			require.EqualValues(t, 1, enginetest.NewRig(t, raw).Number("EXISTS", key), key)
		}
		around := New(enginetest.Plain(t, raw, func(c *core.Config) { c.MapName = func(name string) string { return begin + name + ":end" } }))
		redistest.Do(t, raw, "SET", begin+"z:end", "v")
		require.Equal(t, []string{"z"}, listed(t, around))
		number(t, 1)(around.DeleteMatch(ctx, "z"))
	})
}

// TestAMapperThatCannotBeTurnedBack refuses walks, and nothing else.
func TestAMapperThatCannotBeTurnedBack(t *testing.T) {
	t.Parallel()
	raw := redistest.MiniredisClient(t)
	for what, mapName := range map[string]func(string) string{
		"hash":   func(name string) string { return strconv.Itoa(len(name)) },
		"double": func(name string) string { return name + ":" + name },
		"case":   strings.ToLower,
		"length": func(name string) string { return strconv.Itoa(len(name)) + name },
	} {
		k := New(enginetest.Plain(t, raw, func(c *core.Config) { c.MapName = mapName }))
		for _, err := range k.All(t.Context()) {
			require.ErrorIs(t, err, ErrInvalidArgument, what)
			require.ErrorContains(t, err, "name mapper", what)
		}
		for _, do := range []func() error{
			func() error { _, err := k.Count(t.Context()); return err },
			func() error { _, err := k.CountMatch(t.Context(), "x*"); return err },
			func() error { _, err := k.DeleteMatch(t.Context(), "x*"); return err },
			func() error { return k.Check(t.Context(), "x") },
		} {
			require.ErrorIs(t, do(), ErrInvalidArgument, what)
		}
		number(t, 0)(k.Exists(t.Context(), "x"))
	}
}

// TestWhatCannotBeUsedIsRefused, and nothing is sent.
func TestWhatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	k, ctx := New(enginetest.On(t, client, func(c *core.Config) { c.MaxValue = 1000 })), t.Context()
	proxy.ResetLog()
	var none context.Context
	long := strings.Repeat("n", 1001)
	for what, do := range map[string]func() error{
		"everything":    func() error { _, err := k.DeleteMatch(ctx, "*"); return err },
		"everything 2":  func() error { _, err := k.DeleteMatch(ctx, "**"); return err },
		"everything 3":  func() error { _, err := k.DeleteMatch(ctx, "?*"); return err },
		"empty pattern": func() error { _, err := k.DeleteMatch(ctx, "", WithEverything()); return err },
		"backslash":     func() error { _, err := k.DeleteMatch(ctx, `*\`); return err },
		"bracket":       func() error { _, err := k.DeleteMatch(ctx, "*:tmp["); return err },
		"count empty":   func() error { _, err := k.CountMatch(ctx, ""); return err },
		"long pattern":  func() error { _, err := k.CountMatch(ctx, long); return err },
		"pace":          func() error { _, err := k.DeleteMatch(ctx, "a", WithPace(0)); return err },
		"pace above":    func() error { _, err := k.DeleteMatch(ctx, "a", WithPace(1.1)); return err },
		"no number":     func() error { _, err := k.DeleteMatch(ctx, "a", WithPace(math.NaN())); return err },
		"nil option":    func() error { _, err := k.DeleteMatch(ctx, "a", nil); return err },
		"empty name":    func() error { _, err := k.Delete(ctx, "a", ""); return err },
		"long name":     func() error { _, err := k.Exists(ctx, long); return err },
		"touch":         func() error { _, err := k.Touch(ctx, ""); return err },
		"type":          func() error { _, err := k.Type(ctx, ""); return err },
		"check":         func() error { return k.Check(ctx, "") },
		"no time":       func() error { _, err := k.Expire(ctx, 0, "a"); return err },
		"short time":    func() error { _, err := k.Expire(ctx, time.Microsecond, "a"); return err },
		"long time":     func() error { _, err := k.Expire(ctx, core.LongestLease+1, "a"); return err },
		"nil ctx":       func() error { _, err := k.Delete(none, "a"); return err },
		"nil ctx count": func() error { _, err := k.Count(none); return err },
	} {
		require.ErrorIs(t, do(), ErrInvalidArgument, what)
	}
	for what, opt := range map[string]WalkOption{"nil": nil, "empty": WithMatch(""), "no type": WithType(""), "none": WithType(None)} {
		for _, err := range k.All(ctx, opt) {
			require.ErrorIs(t, err, ErrInvalidArgument, what)
		}
	}
	for _, err := range k.All(none) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	require.Zero(t, proxy.Count(redistest.Command("SCAN", "UNLINK", "EXISTS", "TOUCH", "TYPE", "DBSIZE")))
}

// TestAModel has goroutines do random operations on names of their own, and compares the answers with those of a map.
func TestAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { againstTheModel(t, raw) })
}

func againstTheModel(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	var all sync.WaitGroup
	for range 4 {
		begin := redistest.Name(t) + ":"
		all.Go(func() {
			m := model{t: t, k: New(e), raw: raw, begin: begin, there: map[string]bool{}}
			for range redistest.Count(t, 40, 2000) {
				if !m.step() {
					return
				}
			}
			_, err := m.k.DeleteMatch(context.Background(), begin+"*")
			assert.NoError(t, err)
		})
	}
	all.Wait()
}

// model is the keys of one goroutine, as they should be.
type model struct {
	t     *testing.T
	k     *Keys
	raw   rueidis.Client
	begin string
	there map[string]bool
}

// some returns random names, each once, and how many of them there are.
func (m *model) some() (names []string, there int) {
	for _, i := range rand.Perm(30)[:rand.N(10)] {
		name := m.begin + strconv.Itoa(i)
		names = append(names, name)
		if m.there[name] {
			there++
		}
	}
	return names, there
}

func (m *model) step() bool {
	ctx, names := m.t.Context(), []string(nil)
	want, got, err := 0, int64(0), error(nil)
	switch names, want = m.some(); rand.N(7) {
	case 0, 1:
		for _, name := range names {
			m.there[name] = true
			err = m.raw.Do(ctx, m.raw.B().Set().Key(name).Value("v").Build()).Error()
		}
		got = int64(want)
	case 2:
		got, err = m.k.Delete(ctx, names...)
		for _, name := range names {
			delete(m.there, name)
		}
	case 3:
		got, err = m.k.Exists(ctx, names...)
	case 4:
		got, err = m.k.Expire(ctx, time.Hour, names...)
	case 5:
		want = len(m.there)
		got, err = m.k.CountMatch(ctx, m.begin+"*")
	case 6:
		want = 0
		for name := range m.there {
			if strings.HasSuffix(name, "3") {
				want++
				delete(m.there, name)
			}
		}
		got, err = m.k.DeleteMatch(ctx, m.begin+"*3")
	}
	return assert.NoError(m.t, err) && assert.EqualValues(m.t, want, got)
}

// TestAWalkEndsWithItsCaller.
func TestAWalkEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := enginetest.Plain(t, raw)
	k := New(e)
	begin, names := fill(t, raw, 3000)
	for name, err := range k.All(t.Context(), WithMatch(begin+"*")) {
		require.NoError(t, err)
		require.True(t, slices.Contains(names, name))
		break
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why, last := fmt.Errorf("no more"), error(nil)
	for _, err := range k.All(ctx, WithMatch(begin+"*")) {
		cancel(why)
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	require.ErrorIs(t, last, why)
	resting, stop := context.WithCancel(t.Context())
	at := time.AfterFunc(50*time.Millisecond, stop)
	defer at.Stop()
	_, err := k.DeleteMatch(resting, begin+"*", WithPace(leastShare))
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	for _, err := range k.All(t.Context(), WithMatch(begin+"*")) {
		if err == nil {
			require.NoError(t, locking.Close(context.Background(), e))
		}
		last = err
	}
	for what, do := range map[string]func() error{
		"walk":   func() error { return last },
		"count":  func() error { _, err := k.Count(t.Context()); return err },
		"delete": func() error { _, err := k.Delete(t.Context(), "a"); return err },
		"match":  func() error { _, err := k.DeleteMatch(t.Context(), "a*"); return err },
	} {
		require.ErrorIs(t, do(), ErrClosed, what)
	}
}
