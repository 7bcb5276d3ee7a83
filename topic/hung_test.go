package topic

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableMessagesThatWaitForAHungLoopGoToAnotherProcess. When the loop goes on, it
// skips them, and gets new ones.
func TestDurableMessagesThatWaitForAHungLoopGoToAnotherProcess(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	redistest.Within(t, lease, func() time.Duration { return hungRound(t, lease) })
}

// hungRound is one round, which returns more than a lease if what the loop has has come to another process.
func hungRound(t *testing.T, lease time.Duration) (took time.Duration) {
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	quickly := func(c *core.Config) { c.WatchdogTimeout = lease }
	hung := reliableBy(t, raw, engineOn(t, raw, quickly), name, WithMaxLength(1000))
	one := hung.durable("billing")
	taken, goOn, got, ended := make(chan string), make(chan struct{}), make(chan string, 1000), make(chan struct{})
	go func() {
		defer close(ended)
		for v, err := range one.Messages(t.Context()) {
			if ofConnection(err) {
				continue
			}
			assert.NoError(t, err)
			if v == "0" {
				taken <- v
				<-goOn
			}
			got <- v
		}
	}()
	by := reliableOn(t, raw, name, WithMaxLength(1000)) // one that is not in a hurry
	by.publishes(1, numbers(0, 50)...)
	<-taken
	healthy := reliableBy(t, raw, engineOn(t, raw, quickly), name, WithMaxLength(1000))
	two := healthy.durable("billing")
	seen := map[string]bool{}
	for len(seen) < 49 { // on a machine that stands still some come twice
		h := two.next(t, 1)[0]
		require.NoError(t, h.err)
		if h.text == "0" {
			took = 2 * lease // a loop has it, whose process says so
			continue
		}
		seen[h.text] = true
	}
	two.Close()
	close(goOn)
	require.Equal(t, "0", <-got)
	by.publishes(1, numbers(50, 60)...)
	for late := 50; late < 60; {
		v := redistest.Done(t, got)
		n, err := strconv.Atoi(v)
		require.NoError(t, err)
		if !seen[v] && n >= 50 {
			seen[v] = true
			late++
		}
	}
	by.awaitLen(0)
	one.Close()
	<-ended
	return took
}

// TestDurableVerdictsWaitForNoHungLoop: what one loop has failed at comes again, or is put aside, though another loop of the
// process hangs that has it, too.
func TestDurableVerdictsWaitForNoHungLoop(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"nack", "bury"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Shared(t).Client(t)
			watch := settling(t, raw, redistest.Name(t))
			p := reliableBy(t, raw, engineOn(t, raw, leased(time.Second)), watch.of.key, WithMaxLength(1000))
			one, two := p.durable("billing"), p.durable("billing")
			hangs, goOn := make(chan struct{}), make(chan struct{})
			var loop sync.WaitGroup
			loop.Go(func() {
				for range two.Messages(t.Context()) {
					close(hangs)
					<-goOn
					return
				}
			})
			watch.publishes(1, "0", "1")
			<-hangs
			for m, err := range one.Deliveries(within(t), WithBackoff(quick)) {
				require.NoError(t, err)
				switch {
				case m.Value == "0":
					require.NoError(t, m.Ack(t.Context()))
					continue
				case how == "bury":
					require.NoError(t, m.Bury(t.Context(), nil))
				default:
					require.NoError(t, m.Nack(t.Context(), nil))
				}
				break
			}
			if how == "bury" {
				redistest.Eventually(t, func() bool { return len(dead(t, watch.Durable("billing"))) == 1 }, soon, 10*time.Millisecond)
			} else {
				q := reliableBy(t, raw, engineOn(t, raw, leased(time.Second)), watch.of.key, WithMaxLength(1000))
				q.durable("billing").hears(t, "1")
			}
			close(goOn)
			loop.Wait()
		})
	}
}
