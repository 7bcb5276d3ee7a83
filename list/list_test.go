package list

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestALongList: a long list is filled, read and walked in parts, on every server.
func TestALongList(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, l := t.Context(), New[int](enginetest.On(t, raw), fresh(t, raw))
		most := 12_000
		if strings.Contains(t.Name(), "miniredis") { // which copies the list for each element
			most = 600
		}
		should := make([]int, most)
		for i := range should {
			should[i] = i
		}
		size, err := l.Append(ctx, should...)
		require.NoError(t, err)
		require.EqualValues(t, len(should), size)
		size, err = l.Prepend(ctx, should[:most/2]...)
		require.NoError(t, err)
		should = slices.Insert(should, 0, should[:most/2]...)
		require.EqualValues(t, len(should), size)
		for _, at := range []int{0, 1, most / 2, most, len(should)} {
			did, err := l.Insert(ctx, int64(at), should[:most/3]...)
			require.NoError(t, err)
			require.True(t, did)
			should = slices.Insert(should, at, should[:most/3]...)
		}
		got, err := l.Range(ctx, 0, -1)
		require.NoError(t, err)
		require.Equal(t, should, got)
		got, err = l.Range(ctx, 100, int64(len(should)-101))
		require.NoError(t, err)
		require.Equal(t, should[100:len(should)-100], got)
		all, err := walked(l.All(ctx))
		require.NoError(t, err)
		require.Equal(t, should, all)
		at, want := make([]int64, 300), map[int64]int{}
		for i := range at {
			at[i] = int64(i * 3)
			want[at[i]] = should[i*3]
		}
		many, err := l.GetMany(ctx, at...)
		require.NoError(t, err)
		require.Equal(t, want, many)
	})
}

// TestLongElements come about a megabyte at a time.
func TestLongElements(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := redistest.ThroughProxy(t, server)
	ctx, l := t.Context(), listOn(enginetest.On(t, client), fresh(t, raw))
	vs := make([]string, 40)
	for i := range vs {
		vs[i] = strings.Repeat(string(rune('a'+i%26)), 200_000)
	}
	_, err := l.Append(ctx, vs...)
	require.NoError(t, err)
	require.Equal(t, 8, proxy.Count(redistest.Command("RPUSH")), "parts of up to a megabyte")
	got, err := l.Range(ctx, 0, -1)
	require.NoError(t, err)
	require.True(t, slices.Equal(vs, got))
	require.GreaterOrEqual(t, proxy.Count(script(rangeScript)), 6)
	many, err := l.GetMany(ctx, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1)
	require.NoError(t, err)
	require.Len(t, many, 13)
	require.GreaterOrEqual(t, proxy.Count(script(getManyScript)), 2)
	_, err = l.Insert(ctx, 1, vs...)
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TestAnAnswerIsBounded, also where long elements follow on short ones.
func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, l := t.Context(), listOn(enginetest.On(t, raw), fresh(t, raw))
		vs := append(slices.Repeat([]string{"a"}, 400), slices.Repeat([]string{strings.Repeat("b", 50_000)}, 200)...)
		_, err := l.Append(ctx, vs...)
		require.NoError(t, err)
		got, err := l.Range(ctx, 0, -1)
		require.NoError(t, err)
		require.True(t, slices.Equal(vs, got))
		page, err := read(ctx, l, pageOf, readRange, "0", "-1", decimal(paging.Bytes), decimal(mostRead))
		require.NoError(t, err)
		size := 0
		for _, one := range page.elements {
			size += len(one.text)
		}
		require.LessOrEqual(t, size, paging.Bytes+50_000)
	})
}

// TestNoCallIsLong, of many elements and of large ones; Insert, Remove and Index go through the list, as they say.
func TestNoCallIsLong(t *testing.T) {
	t.Parallel()
	e, bounded := enginetest.BoundedOn(t, redistest.Start(t))
	ctx, l := t.Context(), listOn(e, "list")
	for what, vs := range map[string][]string{
		"many":  slices.Repeat([]string{"element"}, redistest.Count(t, 50_000, 300_000)),
		"large": slices.Repeat([]string{strings.Repeat("x", 50_000)}, 300),
	} {
		_, err := l.Delete(ctx)
		require.NoError(t, err)
		size, indexes := int64(0), make([]int64, 3000)
		for i := range indexes {
			indexes[i] = int64(i % len(vs))
		}
		for _, one := range []struct {
			what string
			do   func() error
		}{
			{"append", func() (err error) { size, err = l.Append(ctx, vs...); return err }},
			{"all", func() error {
				all, err := l.Range(ctx, 0, -1)
				require.EqualValues(t, size, len(all))
				return err
			}},
			{"get many", func() error { _, err := l.GetMany(ctx, indexes...); return err }},
			{"trim", func() error { return l.Trim(ctx, 0, 99) }},
		} {
			bounded.Judge(what+": "+one.what, func() {}, one.do)
		}
	}
}

// TestIndexesBeyondTheEnd finds nothing there, however far they are.
func TestIndexesBeyondTheEnd(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, l := t.Context(), listOn(enginetest.On(t, raw), fresh(t, raw))
		_, err := l.Append(ctx, "a", "b")
		require.NoError(t, err)
		for _, far := range []int64{2, 1e17 + 1, math.MaxInt64} {
			all, err := l.Range(ctx, -far, far)
			require.NoError(t, err)
			require.Equal(t, []string{"a", "b"}, all)
			all, err = l.Range(ctx, far, far)
			require.NoError(t, err)
			require.Empty(t, all)
			if far > 2 {
				did, err := l.Insert(ctx, far, "x")
				require.NoError(t, err)
				require.False(t, did)
				_, had, err := l.RemoveAt(ctx, -far)
				require.NoError(t, err)
				require.False(t, had)
			}
			_, had, err := l.RemoveAt(ctx, far)
			require.NoError(t, err)
			require.False(t, had)
		}
	})
}

// TestRemoveAtRemovesNoEqualOne, also where an element is what Redisson marks elements with.
func TestRemoveAtRemovesNoEqualOne(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		const marker = "DELETED_BY_REDISSON"
		ctx, l := t.Context(), listOn(enginetest.On(t, raw), fresh(t, raw))
		_, err := l.Append(ctx, marker, "b", "c", marker, "c")
		require.NoError(t, err)
		v, had, err := l.RemoveAt(ctx, 2)
		require.NoError(t, err)
		require.True(t, had)
		require.Equal(t, "c", v)
		all, err := l.Range(ctx, 0, -1)
		require.NoError(t, err)
		require.Equal(t, []string{marker, "b", marker, "c"}, all)
		n, err := l.Remove(ctx, marker, 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
	})
}

// TestWhatDoesNotDecode: an element that does not decode is an error with its bytes, and the others are returned.
func TestWhatDoesNotDecode(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := enginetest.On(t, raw), t.Context()
	name := fresh(t, raw)
	_, err := listOn(e, name).Append(ctx, "1", "x", "3")
	require.NoError(t, err)
	l := New[int](e, name, WithCodec(codec.Text))
	undecoded := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, ErrDecode)
		bad := new(codec.DecodeError)
		require.True(t, errors.As(err, &bad))
		require.Equal(t, "x", string(bad.Bytes))
		require.Equal(t, name, bad.Name)
	}
	got, err := l.Range(ctx, 0, -1)
	undecoded(err)
	require.Equal(t, []int{1, 3}, got)
	many, err := l.GetMany(ctx, 0, 1)
	undecoded(err)
	require.Equal(t, map[int64]int{0: 1}, many)
	_, there, err := l.Get(ctx, 1)
	undecoded(err)
	require.True(t, there)
	n := 0
	for _, err := range l.All(ctx) {
		if n++; err != nil {
			undecoded(err)
		}
	}
	require.Equal(t, 3, n)
	_, had, err := l.Set(ctx, 1, 2)
	undecoded(err)
	require.True(t, had)
	got, err = l.Range(ctx, 0, -1)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, got)
}

// TestAWalkThatEndsEarly asks for no more.
func TestAWalkThatEndsEarly(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	l := listOn(enginetest.On(t, raw), fresh(t, raw))
	abac(t, raw, l.Name())
	for v, err := range l.All(t.Context()) {
		require.NoError(t, err)
		if v == "b" {
			break
		}
	}
}
