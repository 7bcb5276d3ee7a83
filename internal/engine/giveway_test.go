package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A process that was told of a waiter knows of the next one only when it asks.
func TestSharedHoldsAreBriefForAWhileAfterSomebodyWaited(t *testing.T) {
	for title, refused := range map[string]bool{"refused": true, "let in": false} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				if refused {
					s.occupy(0)
				}
				s.set(func() { s.hint, s.claimed = 1, refused })
				stays := s.acquire(t.Context(), shares)
				synctest.Wait()
				s.set(func() { s.hint, s.claimed = 0, false })
				s.vacate() // which tells of it
				first := (<-stays).held
				next := func(brief bool) {
					a := s.readers(t, 1)[0]
					time.Sleep(briefly)
					b := s.readers(t, 1)[0]
					require.Equal(t, brief, a.Held != b.Held)
					require.NoError(t, a.Release(t.Context()))
					require.NoError(t, b.Release(t.Context()))
				}
				time.Sleep(briefly)
				next(true)
				time.Sleep(briefFor)
				require.NoError(t, s.readers(t, 1)[0].Release(t.Context()))
				next(false)
				require.NoError(t, first.Release(t.Context()))
			})
		})
	}
}

// behindWriters is a writer that asks, one behind it, and a reader behind both, while
// another process has the lock.
func (s *fakeServer) behindWriters(ctx context.Context, t *testing.T) (asks, second, reader <-chan outcome) {
	s.occupy(0)
	asks = s.acquire(ctx, Ask{})
	synctest.Wait()
	second = s.acquire(t.Context(), Ask{})
	synctest.Wait()
	reader = s.acquire(t.Context(), shares)
	synctest.Wait()
	s.set(func() { s.turn = true })
	return asks, second, reader
}

func TestThoseWhoShareGoFirstIfItIsTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		asks, second, reader := s.behindWriters(t.Context(), t)
		s.vacate()
		r := <-reader
		require.NoError(t, r.err)
		synctest.Wait()
		require.Empty(t, asks)
		s.set(func() { s.turn = false })
		require.NoError(t, r.held.Release(t.Context()))
		for _, w := range []<-chan outcome{asks, second} {
			o := <-w
			require.NoError(t, o.err)
			require.NoError(t, o.held.Release(t.Context()))
		}
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

func TestOneWhoLeftWhileOthersGoFirstLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		ctx, cancel := context.WithCancel(t.Context())
		asks, second, reader := s.behindWriters(ctx, t)
		s.vacate()
		r := <-reader
		require.NoError(t, r.err)
		cancel()
		require.ErrorIs(t, (<-asks).err, context.Canceled)
		s.set(func() { s.turn = false })
		require.NoError(t, r.held.Release(t.Context()))
		o := <-second
		require.NoError(t, o.err)
		require.NoError(t, o.held.Release(t.Context()))
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}
