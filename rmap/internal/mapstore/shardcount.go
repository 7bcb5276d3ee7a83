package mapstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/send"
)

// The name of a sharded map holds its number of shards, as text. A handle with another number,
// or for another kind of map, gets an error in place of looking for entries in the wrong place.

// shardCount is what a process has seen there.
type shardCount struct {
	name  string
	n     int           // 0: it is not said
	added bool          // by who adds to the map: it stays
	until time.Duration // it counts, see Engine.Mono
}

// shardsKey is the name of a map, and whether the caller adds to it. Callers that do not add
// ask on their own, because the server may refuse what the others write.
type shardsKey struct {
	name string
	adds bool
}

// shardsCall asks how many shards a map has. If it is not said, who adds to the map
// says that there are so many.
type shardsCall = combine.Call[int, int]

const shardsText = "rueidisson:sharded 1 "

// SayShards returns the text under the name of a sharded map of n.
func SayShards(n int) string { return shardsText + strconv.Itoa(n) }

// SaidShards returns the number in what is said.
func SaidShards(text string) (int, error) {
	digits, ours := strings.CutPrefix(text, shardsText)
	n, err := strconv.Atoi(digits)
	if !ours || err != nil || n < 1 {
		return 0, fmt.Errorf("%w: its key does not say how many shards there are: another program has written it", codec.ErrDecode)
	}
	return n, nil
}

// countShards asks for the callers that wait.
func (h *Hub) countShards(key shardsKey, _ int, batch []*shardsCall) error {
	if err := h.Engine.Open(); err != nil {
		return err
	}
	asked := h.Engine.Mono()
	n, err := h.askShards(key, batch[0].Ask)
	if err != nil {
		return err
	}
	h.counted(key.name).Store(&shardCount{key.name, n, key.adds, asked + Glance})
	for _, c := range batch {
		c.Answer = n
	}
	return nil
}

func (h *Hub) askShards(key shardsKey, n int) (int, error) {
	var got send.Answer
	var err error
	if key.adds {
		got, err = h.Engine.Run(context.Background(), ShardsScript, []string{key.name}, []string{SayShards(n)})
	} else {
		got, err = h.Engine.Run(context.Background(), get, []string{key.name}, nil)
	}
	said, err := found(got, err)
	if err != nil || !said.There {
		return 0, err
	}
	return SaidShards(said.Text)
}

// counts is for how many names what was seen is kept. Others take each other's
// place, as the memory of a process must not grow with every name.
const counts = 256

func (h *Hub) counted(name string) *atomic.Pointer[shardCount] {
	return &h.counts[maphash.String(h.seed, name)%counts]
}

// shardsOf returns how many shards a map has, 0 if that is not said, as it was a
// second ago or later. Who adds has to know that it stays, too.
func (h *Hub) shardsOf(ctx context.Context, key shardsKey, n int) (int, error) {
	seen := h.counted(key.name).Load()
	if seen != nil && seen.name == key.name && h.Engine.Mono() < seen.until && (seen.added || !key.adds) {
		return seen.n, nil
	}
	return h.shards.Do(ctx, key, n)
}

// Recount has the next call ask.
func (h *Hub) Recount(name string) { h.counted(name).Store(nil) }
