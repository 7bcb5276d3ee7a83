package bitset

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestLongBitsets: long bitsets are filled, counted, measured and read in pieces, on every server. A bitset with the last bit takes 512 MB
// of the server.
func TestLongBitsets(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, s := t.Context(), New(enginetest.On(t, raw), fresh(t, raw))
		const far = 3*mostFilled + 5 // three pieces
		require.NoError(t, s.SetRange(ctx, 3, far))
		n, err := s.Count(ctx)
		require.NoError(t, err)
		require.EqualValues(t, far-3, n)
		n, err = s.Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, far, n)
		require.NoError(t, s.ClearRange(ctx, 100, Bits))
		n, err = s.Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 100, n)
		all, err := s.Bytes(ctx)
		require.NoError(t, err)
		require.Len(t, all, far/8+1, "clearing makes it neither longer nor shorter")
		require.Equal(t, byte(0x1f), all[0])
		require.NoError(t, s.ClearRange(ctx, 0, 100))
		n, err = s.Len(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// TestNoCallIsLong, of ten million bits, and of many at once.
func TestNoCallIsLong(t *testing.T) {
	t.Parallel()
	e, bounded := enginetest.BoundedOn(t, redistest.Start(t))
	ctx, s := t.Context(), New(e, "bits")
	const bits = 10_000_000
	require.NoError(t, s.SetRange(ctx, bits, bits+1)) // the server makes room for all of them once
	offsets := make([]int64, 20_000)
	for i := range offsets {
		offsets[i] = int64(i) * 499
	}
	for _, one := range []struct {
		what string
		do   func() error
	}{
		{"set many", func() error { _, err := s.Set(ctx, offsets...); return err }},
		{"get many", func() error { _, err := s.Get(ctx, offsets...); return err }},
		{"set a range", func() error { return s.SetRange(ctx, 5, bits) }},
		{"count", func() error { _, err := s.Count(ctx); return err }},
		{"bytes", func() error { _, err := s.Bytes(ctx); return err }},
		{"clear a range", func() error { return s.ClearRange(ctx, 5, bits+1) }},
		{"length", func() error { _, err := s.Len(ctx); return err }},
	} {
		bounded.Judge(one.what, func() {}, one.do)
	}
}

// TestLongerThanOneLook has zeros at its end that take two looks, and bits of two counts.
func TestLongerThanOneLook(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	ctx, s := t.Context(), New(enginetest.On(t, raw), fresh(t, raw))
	_, err := s.Set(ctx, 1, 2, 10, 8*(2*mostLooked+5))
	require.NoError(t, err)
	n, err := s.Count(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 4, n)
	_, err = s.Clear(ctx, 8*(2*mostLooked+5))
	require.NoError(t, err)
	n, err = s.Len(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 11, n)
}

// TestManyOffsets need several calls.
func TestManyOffsets(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, s := t.Context(), New(enginetest.On(t, raw), fresh(t, raw))
		at := make([]int64, mostOffsets+2)
		for i := range at {
			at[i] = int64(2 * i)
		}
		for _, want := range []bool{false, true} {
			was, err := s.Set(ctx, at...)
			require.NoError(t, err)
			require.Len(t, was, len(at))
			require.NotContains(t, was, !want)
		}
		got, err := s.Get(ctx, at...)
		require.NoError(t, err)
		require.Len(t, got, len(at))
		require.NotContains(t, got, false)
		n, err := s.Count(ctx)
		require.NoError(t, err)
		require.EqualValues(t, len(at), n)
		was, err := s.Clear(ctx, at...)
		require.NoError(t, err)
		require.NotContains(t, was, false)
	})
}

// TestNothingIsMadeOfZeros: a bitset that does not exist reads as zeros, and clearing does not create it.
func TestNothingIsMadeOfZeros(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, s := t.Context(), New(enginetest.On(t, raw), fresh(t, raw))
		_, err := s.Clear(ctx, Bits-1, 0)
		require.NoError(t, err)
		require.NoError(t, s.ClearRange(ctx, 0, Bits))
		require.NoError(t, s.Not(ctx))
		require.NoError(t, s.Or(ctx, other(s)))
		there, err := s.Exists(ctx)
		require.NoError(t, err)
		require.False(t, there)
		got, err := s.Get(ctx, 0, Bits-1)
		require.NoError(t, err)
		require.Equal(t, []bool{false, false}, got)
		v, err := s.Int(64, Bits-64).Get(ctx)
		require.NoError(t, err)
		require.Zero(t, v)
		all, err := s.Bytes(ctx)
		require.NoError(t, err)
		require.Empty(t, all)
	})
}
