package counter

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// faulty is a client whose writes lose replies, and arrive late; with twice also twice.
type faulty struct {
	rueidis.Client
	twice bool
	on    atomic.Bool
	mu    sync.Mutex
	late  []func()
	lost  atomic.Int64
}

var errCut = errors.New("the connection was cut")

// written are the commands that it is about.
var written = []string{"EVALSHA", "EVAL", "INCRBY", "SET"}

func (c *faulty) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	words := cmd.Commands()
	if !c.on.Load() || !slices.Contains(written, strings.ToUpper(words[0])) || rand.IntN(8) > 0 {
		return c.Client.Do(ctx, cmd)
	}
	words = slices.Clone(words)
	again := func() rueidis.RedisResult {
		return c.Client.Do(context.Background(), c.Client.B().Arbitrary(words...).Build())
	}
	c.lost.Add(1)
	switch how := rand.IntN(4); {
	case how == 0 && c.twice: // it arrives twice, and is answered
		again()
		return again()
	case how == 1: // it arrives late
		c.mu.Lock()
		c.late = append(c.late, func() { again() })
		c.mu.Unlock()
	case how == 2 && c.twice: // it arrives now, and once more late
		again()
		c.mu.Lock()
		c.late = append(c.late, func() { again() })
		c.mu.Unlock()
	case how < 3: // its reply is lost
		again()
	}
	return rueidis.NewErrorResult(errCut)
}

func (c *faulty) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	all := make([]rueidis.RedisResult, len(cmds))
	for i, cmd := range cmds {
		all[i] = c.Do(ctx, cmd)
	}
	return all
}

// deliver has late sends arrive, in any order.
func (c *faulty) deliver() {
	c.mu.Lock()
	late := c.late
	c.late = nil
	c.mu.Unlock()
	rand.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
	for _, f := range late {
		f()
	}
}
