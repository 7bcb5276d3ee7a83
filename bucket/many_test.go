package bucket

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// numbered returns n values, with names that begin in this way.
func numbered(prefix string, n int) map[string]int {
	all := map[string]int{}
	for i := range n {
		all[prefix+strconv.Itoa(i)] = i
	}
	return all
}

// deletesAll deletes buckets when the test ends.
func deletesAll[T any](t *testing.T, e *locking.Engine, all map[string]T) {
	t.Cleanup(func() {
		for name := range all {
			e.Drop(name)
		}
	})
}

// manyOf writes and reads more buckets than one command takes.
func manyOf(t *testing.T, raw rueidis.Client, n int) {
	t.Helper()
	e, ctx := enginetest.On(t, raw), t.Context()
	many, prefix := NewMany[int](e, WithCodec(codec.Text)), redistest.Name(t)
	values := numbered(prefix, n)
	deletesAll(t, e, values)
	names := slices.Collect(maps.Keys(values))
	none, err := many.Get(ctx, names...)
	require.NoError(t, err)
	require.Empty(t, none)

	require.NoError(t, many.Set(ctx, values))
	got, err := many.Get(ctx, append(names, names[0], prefix+"none")...)
	require.NoError(t, err)
	require.Equal(t, values, got)
	require.Equal(t, "forever", ends(t, raw, prefix+"0"))

	for name := range values {
		values[name]++
	}
	require.NoError(t, many.Set(ctx, values, WithTTL(day)))
	got, err = many.Get(ctx, names...)
	require.NoError(t, err)
	require.Equal(t, values, got)
	require.NoError(t, many.Set(ctx, values, WithKeepTTL()))
	for _, name := range names[:5] {
		require.Equal(t, fmt.Sprint(values[name])+" day", state(t, raw, name))
	}
}

func TestManyBuckets(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { manyOf(t, raw, 2*mostNames+3) })
}

// TestManyAllOrNone writes all or none.
func TestManyAllOrNone(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := enginetest.On(t, raw), t.Context()
		many := NewMany[int](e, WithCodec(codec.Text))
		for what, opts := range map[string][]SetOption{"forever": nil, "day": {WithTTL(day)}, "kept": {WithKeepTTL()}} {
			values := numbered(redistest.Name(t), 2*mostNames)
			deletesAll(t, e, values)
			names := slices.Sorted(maps.Keys(values))
			redistest.Do(t, raw, "SET", names[300], "77")
			did, err := many.SetAllIfAbsent(ctx, values, opts...)
			require.NoError(t, err)
			require.False(t, did)
			got, err := many.Get(ctx, names...)
			require.NoError(t, err)
			require.Equal(t, map[string]int{names[300]: 77}, got)
			redistest.Do(t, raw, "DEL", names[300])
			did, err = many.SetAllIfAbsent(ctx, values, opts...)
			require.NoError(t, err)
			require.True(t, did)
			got, err = many.Get(ctx, names...)
			require.NoError(t, err)
			require.Equal(t, values, got)
			want := what
			if what == "kept" {
				want = "forever" // there was nothing to keep
			}
			require.Equal(t, want, ends(t, raw, names[0]))
		}
	})
}

// TestManyOfNoneSendsNothing.
func TestManyOfNoneSendsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	many := NewMany[int](enginetest.On(t, client))
	proxy.ResetLog()
	got, err := many.Get(t.Context())
	require.NoError(t, err)
	require.Empty(t, got)
	require.NoError(t, many.Set(t.Context(), nil))
	did, err := many.SetAllIfAbsent(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, did)
	require.Empty(t, slices.DeleteFunc(proxy.Log(), redistest.Command("PING", "CLIENT", "HELLO")))
}

// TestNoAnswerIsLong: buckets of any lengths are read by answers of about a megabyte, and no more of one command.
func TestNoAnswerIsLong(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for what, sizes := range map[string]func(i int) int{
		"short":            func(int) int { return 20 },
		"50 KB":            func(int) int { return 50_000 },
		"a few long ones":  func(i int) int { return 10 + i/60*700_000 },
		"long after short": func(i int) int { return 100 + i/100*2_000_000 },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := enginetest.Plain(t, raw)
			prefix, values, longest := redistest.Name(t), map[string]string{}, 0
			for i := range 102 {
				n := sizes(i)
				values[fmt.Sprintf("%s-%03d", prefix, i)] = strings.Repeat("x", n)
				longest = max(longest, n)
			}
			deletesAll(t, e, values)
			require.NoError(t, NewMany[string](e, WithCodec(codec.Text)).Set(t.Context(), values))
			c := &redistest.Weighed{Client: raw}
			got, err := NewMany[string](enginetest.Plain(t, c), WithCodec(codec.Text)).Get(t.Context(), slices.Collect(maps.Keys(values))...)
			require.NoError(t, err)
			require.Equal(t, values, got)
			require.LessOrEqual(t, c.Most.Load(), int64(max(longest, 1<<20)+100_000))
		})
	}
}

// TestManyIsCut so that no command has more than a megabyte, or 256 buckets.
func TestManyIsCut(t *testing.T) {
	t.Parallel()
	of := func(n, size int) []entry {
		return slices.Repeat([]entry{{name: "n", key: "n", text: strings.Repeat("x", size)}}, n)
	}
	require.Equal(t, 1, cut(of(1, 5<<20)))
	require.Equal(t, 1, cut(of(2, 1<<20)))
	require.Equal(t, 3, cut(of(3, 1)))
	require.Equal(t, mostNames, cut(of(1000, 1)))
	require.Equal(t, 10, cut(of(100, 100_000)))
}

// TestManyAfterAnError has what was read.
func TestManyAfterAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	e := enginetest.On(t, client)
	many := NewMany[int](e, WithCodec(codec.Text))
	values := numbered(redistest.Name(t), 3*mostNames)
	deletesAll(t, enginetest.On(t, server.Client(t)), values)
	require.NoError(t, many.Set(t.Context(), values))
	names := slices.Sorted(maps.Keys(values))
	proxy.Answer(redistest.Arg(names[mostNames+1]), "ERR no")
	got, err := many.Get(t.Context(), names...)
	require.ErrorContains(t, err, ": no")
	require.ErrorContains(t, err, names[mostNames])
	require.ErrorContains(t, err, "with 255 others")
	require.Len(t, got, mostNames)
	err = many.Set(t.Context(), values)
	require.ErrorContains(t, err, ": no")
}
