package topic

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// TestAnInboxAgainstItsModel puts in and takes at random: what comes out is all that
// was put in, in its order, or counted, and each interruption is told before what
// came behind it.
func TestAnInboxAgainstItsModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newInbox(1 + r.IntN(20))
		in, out, cuts, told := 0, 0, 0, 0
		away := false
		cutAt := map[int]bool{} // a cut came before that message
		for range 400 {
			switch r.IntN(5) {
			case 0, 1:
				b.hear(pubsub.Event{Kind: pubsub.Message, Payload: strconv.Itoa(in)})
				in++
			case 2:
				if r.IntN(5) == 0 {
					if r.IntN(2) == 0 {
						b.hear(pubsub.Event{Kind: pubsub.Lost})
					}
					b.hear(pubsub.Event{Kind: pubsub.Resumed})
					if !cutAt[in] {
						cuts++
					}
					cutAt[in] = true
				}
			default:
				next, some, closed := b.take()
				require.False(t, closed)
				switch {
				case !some:
					require.Equal(t, in, out, "seed %d", seed)
				case next.missed > 0:
					for range next.missed {
						out++
					}
				case next.cut == disconnected:
					require.False(t, away, "seed %d", seed)
					away = true
				case next.cut == reconnected:
					require.True(t, away, "seed %d", seed)
					away = false
					told++
					cutAt[out] = false
				default:
					require.Equal(t, strconv.Itoa(out), next.payload, "seed %d", seed)
					require.False(t, cutAt[out], "seed %d: told too late", seed)
					out++
				}
				require.LessOrEqual(t, b.n, b.most)
				require.LessOrEqual(t, len(b.ring), b.most)
			}
		}
		require.LessOrEqual(t, told, cuts)
		require.LessOrEqual(t, out, in)
	}
}

// TestAnInterruptionIsToldThoughItWasDropped with the message that it came before.
func TestAnInterruptionIsToldThoughItWasDropped(t *testing.T) {
	t.Parallel()
	b := newInbox(1)
	b.hear(pubsub.Event{Kind: pubsub.Resumed})
	for range 3 {
		b.hear(pubsub.Event{Kind: pubsub.Message, Payload: "x"})
	}
	first, _, _ := b.take()
	second, _, _ := b.take()
	third, _, _ := b.take()
	fourth, _, _ := b.take()
	require.EqualValues(t, 2, first.missed)
	require.Equal(t, disconnected, second.cut)
	require.Equal(t, reconnected, third.cut)
	require.Equal(t, "x", fourth.payload)
	_, some, _ := b.take()
	require.False(t, some)
	require.LessOrEqual(t, len(b.ring), 1)
}

// TestInboxTellsTheLastOfSeveralInterruptions: a loop that is told of none is told that the connection is lost, not that it was back
// before.
func TestInboxTellsTheLastOfSeveralInterruptions(t *testing.T) {
	t.Parallel()
	b := newInbox(10)
	told := func() (all []interruption) {
		for {
			next, some, _ := b.take()
			if !some {
				return all
			}
			all = append(all, next.cut)
		}
	}
	hear := func(kinds ...pubsub.EventKind) {
		for _, kind := range kinds {
			b.hear(pubsub.Event{Kind: kind})
		}
	}
	hear(pubsub.Lost, pubsub.Lost)
	require.Equal(t, []interruption{disconnected}, told())
	hear(pubsub.Resumed, pubsub.Lost)
	require.Empty(t, told(), "it knows that")
	hear(pubsub.Resumed)
	require.Equal(t, []interruption{reconnected}, told())
	hear(pubsub.Lost, pubsub.Resumed, pubsub.Lost)
	require.Equal(t, []interruption{disconnected}, told())
	hear(pubsub.Resumed, pubsub.Resumed)
	require.Equal(t, []interruption{reconnected}, told()[:1])
}

// TestAnInboxOfManyHands loses nothing that fits.
func TestAnInboxOfManyHands(t *testing.T) {
	t.Parallel()
	const hands, each = 8, 5_000
	b := newInbox(hands * each)
	var in, out sync.WaitGroup
	got := make([]int, hands)
	for i := range hands {
		in.Go(func() {
			for range each {
				b.hear(pubsub.Event{Kind: pubsub.Message, Payload: "x"})
			}
		})
		out.Go(func() {
			for range b.news {
				for _, some, closed := b.take(); some || closed; _, some, closed = b.take() {
					if closed {
						b.poke()
						return
					}
					got[i]++
				}
			}
		})
	}
	in.Wait()
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.n == 0
	}, soon, 1e6)
	b.close()
	out.Wait()
	sum := 0
	for _, n := range got {
		sum += n
	}
	require.Equal(t, hands*each, sum)
}
