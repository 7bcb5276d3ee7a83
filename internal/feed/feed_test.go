package feed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

type (
	kind  string
	heard = Heard[kind]
)

const created, removed kind = "created", "removed"

func newFeed() *Feed[kind] {
	return &Feed[kind]{news: make(chan struct{}, 1), away: map[kind]bool{}}
}

func TestAReaderWhoIsTooSlowIsToldOfAGap(t *testing.T) {
	t.Parallel()
	f := newFeed()
	for i := range most + 100 {
		f.add(heard{Kind: created, Payload: fmt.Sprint(i)})
	}
	for i := range most {
		h, some, _ := f.take()
		require.True(t, some)
		require.Equal(t, heard{Kind: created, Payload: fmt.Sprint(i)}, h)
	}
	h, some, _ := f.take()
	require.True(t, some)
	assert.True(t, h.Gap)
	_, some, _ = f.take()
	assert.False(t, some)
	f.add(heard{Kind: created, Payload: "later"})
	h, _, _ = f.take()
	assert.Equal(t, "later", h.Payload)
	f.add(heard{Gap: true})
	f.add(heard{Gap: true})
	f.add(heard{Kind: removed})
	h, _, _ = f.take()
	assert.True(t, h.Gap)
	h, _, _ = f.take()
	assert.Equal(t, removed, h.Kind, "two connections that were lost are one gap")
}

// TestWhatWaitsIsBoundedByBytes, but for one event that is larger.
func TestWhatWaitsIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	f, payload := newFeed(), strings.Repeat("x", mostBytes/4)
	for range 2 {
		for range 10 {
			f.add(heard{Kind: created, Payload: payload})
		}
		require.Len(t, f.queue, 5)
		require.True(t, f.queue[4].Gap)
		for range 5 {
			_, some, _ := f.take()
			require.True(t, some)
		}
		require.Zero(t, f.bytes)
	}
	f.add(heard{Kind: created, Payload: strings.Repeat("x", 2*mostBytes)})
	h, _, _ := f.take()
	require.Len(t, h.Payload, 2*mostBytes)
}

// TestALoopThatStandsStillIsToldOfAllLossesOnce: what it has not read of stays small.
func TestALoopThatStandsStillIsToldOfAllLossesOnce(t *testing.T) {
	t.Parallel()
	f := newFeed()
	for range 1000 {
		f.lost(created)
		f.back(created)
	}
	require.Equal(t, []heard{{Notice: core.ErrDisconnected}, {Notice: core.ErrReconnected}, {Gap: true}}, f.queue)
	first, some, _ := f.take()
	require.True(t, some)
	require.Equal(t, core.ErrDisconnected, first.Notice)
	f.lost(created) // while the loop has read of the loss, and not of the return
	require.Equal(t, []heard{{Notice: core.ErrReconnected}, {Gap: true}, {Notice: core.ErrDisconnected}}, f.queue)
}

// TestWhatIsAddedAfterTheEndIsCalled at once, and what was added before it once.
func TestWhatIsAddedAfterTheEndIsCalled(t *testing.T) {
	t.Parallel()
	f, n := newFeed(), 0
	f.Ends(func() { n++ })
	f.Close()
	f.Close()
	require.Equal(t, 1, n)
	f.Ends(func() { n++ })
	require.Equal(t, 2, n)
	f.add(heard{Kind: created})
	_, some, left := f.take()
	require.False(t, some)
	require.True(t, left)
}

func FuzzSplit(f *testing.F) {
	f.Add("\x01\x00\x00\x00\x00\x00\x00\x00k\x00\x00\x00\x00\x00\x00\x00\x00")
	f.Fuzz(func(t *testing.T, payload string) {
		var a, b string
		if Split(payload, &a) == nil {
			assert.Equal(t, payload[8:], a)
		}
		if Split(payload, &a, &b) == nil {
			assert.Len(t, payload, 16+len(a)+len(b))
		}
	})
}
