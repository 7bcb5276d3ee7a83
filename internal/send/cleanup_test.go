package send

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// refuser is an operation that a real server answers with an error of our
// choice, for as long as it is to, and counts its sends.
type refuser struct {
	*scripts.Command
	answer atomic.Pointer[string]
	sends  atomic.Int64
	runs   atomic.Int64 // of its cleanup task
}

func newRefuser(answer string) *refuser {
	r := &refuser{Command: scripts.NewCommand("EVAL", scripts.Safe)}
	r.answer.Store(&answer)
	return r
}

func (r *refuser) Exec(ctx context.Context, c rueidis.Client, _, _ []string) rueidis.RedisResult {
	r.sends.Add(1)
	const script = `return ARGV[1] ~= '' and redis.error_reply(ARGV[1]) or 1`
	return r.Command.Exec(ctx, c, nil, []string{script, "0", *r.answer.Load()})
}

func (r *refuser) ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return r.Exec(ctx, c, keys, args)
}

func (r *refuser) accept() { r.answer.Store(new(string)) }

// cleanup says the operation later; done is closed when it has been taken.
func (r *refuser) cleanup(e *closer, until time.Duration) (done <-chan struct{}) {
	taken := make(chan struct{})
	e.CleanUpLater("key", time.Now().Add(until), func(ctx context.Context) error {
		r.runs.Add(1)
		_, err := e.Run(ctx, r, nil, nil)
		if err == nil {
			close(taken)
		}
		return err
	})
	return taken
}

func awaitDone(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the cleanup task was not done")
	}
}

func TestACleanupTaskIsRepeatedUntilTheServerTakesIt(t *testing.T) {
	t.Parallel()
	e := at(t, redistest.Shared(t).Addr())
	for _, answer := range []string{
		"TRYAGAIN not all here", "MISCONF no disk", "OOM no memory", "NOPERM not you", "ERR max number of clients reached", "ERR whatever",
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			r := newRefuser(answer)
			done := r.cleanup(e, time.Minute)
			require.Eventually(t, func() bool { return r.sends.Load() > 2 }, redistest.Soon, time.Millisecond)
			r.accept()
			awaitDone(t, done)
		})
	}
}

func TestACleanupTaskWithAPermanentErrorRunsOnce(t *testing.T) {
	t.Parallel()
	e := at(t, redistest.Shared(t).Addr())
	wrong, next := newRefuser("WRONGTYPE not yours"), newRefuser("TRYAGAIN not all here")
	wrong.cleanup(e, time.Minute)
	next.cleanup(e, time.Minute)
	require.Eventually(t, func() bool { return next.sends.Load() > 3 }, redistest.Soon, time.Millisecond)
	require.EqualValues(t, 1, wrong.sends.Load())
	next.accept()
}

func TestACleanupTaskEndsWithTheLeaseThatItGivesBack(t *testing.T) {
	t.Parallel()
	e := at(t, redistest.Shared(t).Addr())
	late, next := newRefuser("ERR no"), newRefuser("ERR no")
	late.cleanup(e, -time.Second)
	next.cleanup(e, time.Minute)
	require.Eventually(t, func() bool { return next.sends.Load() > 1 }, redistest.Soon, time.Millisecond)
	require.Zero(t, late.sends.Load())
	next.accept()
}

// What wants a slot that moves is refused for as long as that lasts; the cleanup tasks of
// others must not wait behind it.
func TestARefusedCleanupTaskDelaysNoOther(t *testing.T) {
	t.Parallel()
	e := at(t, redistest.Shared(t).Addr())
	var refused []*refuser
	for range 3 {
		r := newRefuser("TRYAGAIN not all here")
		refused = append(refused, r)
		r.cleanup(e, time.Minute)
	}
	require.Eventually(t, func() bool { return refused[2].sends.Load() > 3 }, redistest.Soon, time.Millisecond, "they wait for their turns")
	all := func() (sends int64) {
		for _, r := range refused {
			sends += r.sends.Load()
		}
		return sends
	}
	before := all()
	healthy := newRefuser("")
	awaitDone(t, healthy.cleanup(e, time.Minute))
	require.LessOrEqual(t, all(), before+2*int64(len(refused)), "a round that was under way, and at most one more")
	require.EqualValues(t, 1, healthy.sends.Load())
	for _, r := range refused {
		require.LessOrEqual(t, r.sends.Load(), r.runs.Load(), "what is refused is not sent again within a round")
	}
	for _, r := range refused {
		r.accept()
	}
}

// Close says what is left once more.
func TestCleanupTasksAreSaidOnceMoreWhenTheClientCloses(t *testing.T) {
	t.Parallel()
	e := at(t, redistest.Shared(t).Addr())
	refused, after := newRefuser("ERR no"), newRefuser("ERR no")
	refused.cleanup(e, time.Minute)
	done := after.cleanup(e, time.Minute)
	require.Eventually(t, func() bool { return after.sends.Load() > 3 }, redistest.Soon, time.Millisecond)
	after.accept()
	require.NoError(t, e.Close(t.Context()))
	awaitDone(t, done)
}

// Very many cleanup tasks take a while where the way to the server is long, but not all
// the ways one behind the other. Those on one key do: the second may need what the
// first has settled.
func TestCleanupTasksOnManyKeysAreUnderWayTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t)
		const keys, each, way = 320, 2, 100 * time.Millisecond
		var mu sync.Mutex
		said, under, most := map[string][]int{}, map[string]bool{}, 0
		for n := range each {
			for k := range keys {
				key := fmt.Sprint("key ", k)
				s.CleanUpLater(key, time.Now().Add(time.Hour), func(context.Context) error {
					mu.Lock()
					assert.False(t, under[key], "two on one key")
					under[key] = true
					most = max(most, len(under))
					mu.Unlock()
					time.Sleep(way)
					mu.Lock()
					defer mu.Unlock()
					delete(under, key)
					said[key] = append(said[key], n)
					return nil
				})
			}
		}
		time.Sleep(keys*each*way/mostCleanups + time.Second)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, said, keys)
		for key, order := range said {
			require.Equal(t, []int{0, 1}, order, key)
		}
		require.Equal(t, mostCleanups, most)
	})
}

// A request that is never answered, such as one that takes the server too long, is no
// silence of its node.
func TestACleanupTaskThatIsNeverAnsweredDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t)
		s.CleanUpLater("silent", time.Now().Add(time.Hour), func(context.Context) error { return errors.New("silence") })
		longest := time.Duration(0)
		for n := range 1000 {
			said, began := make(chan struct{}), time.Now()
			s.CleanUpLater(fmt.Sprint("key ", n), time.Now().Add(time.Hour), func(context.Context) error {
				close(said)
				return nil
			})
			<-said
			longest = max(longest, time.Since(began))
			time.Sleep(10 * time.Millisecond)
		}
		require.LessOrEqual(t, longest, 500*time.Millisecond)
	})
}
