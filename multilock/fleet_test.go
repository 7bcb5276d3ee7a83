package multilock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
)

var fleetChildren = redistest.Children{"taker of subsets": takeSubsets, "holder of two": holdAndLook}

const (
	fleetNames      = 6
	fleetGoroutines = 8
)

// takeSubsets locks some of the names again and again until its input ends.
func takeSubsets(p *redistest.Parent) {
	c, err := connect(os.Getenv("SERVER"))
	if err != nil {
		p.Say("failed %v", err)
		return
	}
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("SERVER")}, DisableCache: true})
	if err != nil {
		p.Say("failed %v", err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var turns atomic.Int64
	var all sync.WaitGroup
	for range fleetGoroutines {
		all.Go(func() {
			mine := 0
			for ctx.Err() == nil {
				if err := takeSome(c, raw, os.Getenv("NAME")); err != nil {
					p.Say("failed %v", err)
					return
				}
				mine++
				turns.Add(1)
			}
			if mine == 0 {
				p.Say("failed: a goroutine had no turn")
			}
		})
	}
	p.Say("began")
	p.Hear()
	stop()
	all.Wait()
	if err := c.Close(context.Background()); err != nil {
		p.Say("failed %v", err)
	}
	raw.Close()
	p.Say("turns %d", turns.Load())
}

// takeSome locks a random subset in a random order, and leaves a mark at each
// name that another must not meet.
func takeSome(c *rueidisson.Client, raw rueidis.Client, prefix string) error {
	var locks []lock.Locker
	for _, i := range rand.Perm(fleetNames)[:1+rand.IntN(fleetNames)] {
		locks = append(locks, c.Lock(fmt.Sprintf("%s:%d", prefix, i)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	return lock.Do(ctx, multilock.Multi(locks...), func(context.Context) error {
		for _, l := range locks {
			key := "mark:" + l.Name()
			switch first, err := raw.Do(ctx, raw.B().Setnx().Key(key).Value("1").Build()).AsBool(); {
			case err != nil:
				return err
			case !first:
				return fmt.Errorf("another is in %s", l.Name())
			}
		}
		for _, l := range locks {
			if err := raw.Do(ctx, raw.B().Del().Key("mark:"+l.Name()).Build()).Error(); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestSubsetsOfLocksInAnyOrderNeitherDeadlockNorOverlap(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	children := make([]*redistest.Child, 4)
	for i := range children {
		children[i] = redistest.StartChild(t, "taker of subsets", "SERVER="+server.Addr(), "NAME="+name)
	}
	for _, child := range children {
		child.Await("began")
	}
	<-time.After(redistest.Span(t, 4*time.Second, 30*time.Second))
	for _, child := range children {
		child.CloseInput()
	}
	for _, child := range children {
		for {
			line := child.Next()
			require.False(t, strings.HasPrefix(line, "failed"), line)
			if turns, done := strings.CutPrefix(line, "turns "); done {
				t.Logf("%s turns", turns)
				break
			}
		}
		require.Zero(t, child.Wait())
	}
	raw := server.Client(t)
	nothing, err := raw.Do(t.Context(), raw.B().Keys().Pattern("*"+name+":*").Build()).AsStrSlice()
	require.NoError(t, err)
	for _, key := range nothing {
		require.True(t, strings.HasPrefix(key, "rueidisson_gone:"), key)
	}
}
