package bloom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// hub is what the filters of one client share.
type hub struct {
	e       *locking.Engine
	looks   *combine.Table[place, look, bool]
	configs *combine.Table[string, struct{}, Shape]
	plain   atomic.Bool  // the server has no BITFIELD_RO
	full    atomic.Int64 // until when it is taken to have no memory, by the client's monotonic clock
}

// place is a filter of a shape: what is asked of it in one exchange has one shape.
type place struct {
	key string
	shape
}

// look asks for one value.
type look struct {
	hash
	bits int
}

type lookCall = combine.Call[look, bool]

const (
	// flights is how many exchanges about one filter may be under way.
	flights = 4
	// mostBits bounds the bits of one exchange, unless one value has more: the server takes about 1 ms to set them.
	mostBits = 1000
	// mostPieces bounds the exchanges of one call that are under way.
	mostPieces = 16
	// mostCounted bounds the bytes whose bits the server counts at once, in about 1 ms.
	mostCounted = 2 << 20
)

type hubKey struct{}

func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any {
		h := &hub{e: e}
		h.looks = combine.New(combine.Config[place, look, bool]{
			Send: h.sendLooks, Cut: cutLooks, Sent: e.Sent("bloom filter"), Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
		})
		h.configs = combine.New(combine.Config[string, struct{}, Shape]{Send: h.sendConfigs, Spawn: e.Spawn, Closed: ErrClosed})
		return h
	}).(*hub)
}

// cutLooks returns how many of the waiting values are looked for in one exchange.
func cutLooks(waiting []*lookCall) int { return mostBits / waiting[0].Ask.bits }

// sendLooks looks for the values of all calls.
func (h *hub) sendLooks(at place, _ int, batch []*lookCall) error {
	values := make([]hash, len(batch))
	for i, c := range batch {
		values[i] = c.Ask.hash
	}
	has, err := h.look(context.Background(), at.key, at.shape, values)
	for i := range has {
		batch[i].Answer = has[i]
	}
	return err
}

// sendConfigs reads the config of a filter once for all calls.
func (h *hub) sendConfigs(key string, _ int, batch []*combine.Call[struct{}, Shape]) error {
	if err := h.e.Open(); err != nil {
		return err
	}
	got, err := h.e.Run(context.Background(), hmget, keysOf(key)[1:], configFields)
	if err != nil {
		return err
	}
	parts, err := got.ToArray()
	if err != nil {
		return err
	}
	texts := textsOf(parts)
	if strings.Join(texts, "") == "" {
		return ErrNotSet
	}
	s, err := parseConfig(texts)
	for _, c := range batch {
		c.Answer = s
	}
	return err
}

// textsOf returns the texts of an answer. Nil is empty.
func textsOf(parts []rueidis.RedisMessage) []string {
	texts := make([]string, len(parts))
	for i := range parts {
		texts[i], _ = parts[i].ToString()
	}
	return texts
}

// look returns which values are in a filter of that shape. All of them are looked for in one step.
func (h *hub) look(ctx context.Context, key string, s shape, values []hash) ([]bool, error) {
	if err := h.e.Open(); err != nil {
		return nil, err
	}
	bits, err := h.bits(ctx, key, s, values)
	if err != nil {
		return nil, err
	}
	if len(bits) != len(values)*s.k {
		return nil, fmt.Errorf("%d bits of %d", len(bits), len(values)*s.k)
	}
	has := make([]bool, len(values))
	for i := range has {
		has[i] = !slices.Contains(bits[i*s.k:(i+1)*s.k], 0)
	}
	return has, nil
}

// bits returns the bits of values, each 0 or 1.
func (h *hub) bits(ctx context.Context, key string, s shape, values []hash) ([]int64, error) {
	if h.transacts() {
		args := s.appendBits(make([]string, 0, 3*len(values)*s.k), values, "GET", "u1")
		got, err := h.transact(ctx, "bloom look", key, s, bitfieldRO, args)
		if err == nil {
			return got.AsIntSlice()
		}
		if !h.without(err) {
			return nil, err
		}
	}
	size, hashes := s.texts()
	args := append(make([]string, 0, 3+len(values)*s.k), size, hashes, "bits")
	_, bits, err := h.answerOf(h.e.Run(ctx, lookScript, keysOf(key), s.appendBits(args, values)))
	return bits, err
}

// transact sends a command that reads the bitmap of a filter of that shape.
func (h *hub) transact(ctx context.Context, label, key string, s shape, cmd *scripts.Command, args []string) (got rueidis.RedisMessage, err error) {
	on := keysOf(key)
	tx := scripts.NewTransaction(label,
		scripts.Step{Command: hmget, Call: scripts.Call{Keys: on[1:], Args: shapeFields}, Reads: true},
		scripts.Step{Command: cmd, Call: scripts.Call{Keys: on[:1], Args: args}, Reads: true})
	keys, words := tx.Words()
	answer, err := h.e.RunBriefly(ctx, tx, keys, words)
	if err != nil {
		return got, err
	}
	all, err := answer.ToArray()
	if err != nil {
		return got, err
	}
	found, err := all[0].ToArray()
	if err != nil {
		return got, err
	}
	size, hashes := s.texts()
	if texts := textsOf(found); texts[0] != size || texts[1] != hashes {
		return got, &changedError{texts[0], texts[1]}
	}
	return all[1], nil
}

// fullFor is how long what only reads goes by script after a server without memory has refused a transaction.
const fullFor = time.Second

// transacts reports whether the server takes transactions that read bits, as far as it is known.
func (h *hub) transacts() bool {
	return !h.plain.Load() && h.e.Mono() >= time.Duration(h.full.Load())
}

// without reports whether a script can do what was refused as a transaction.
func (h *hub) without(err error) bool {
	switch {
	case send.UnknownCommand(err):
		h.plain.Store(true)
	case send.OutOfMemory(err):
		h.full.Store(int64(h.e.Mono() + fullFor))
	default:
		return false
	}
	return true
}

// answerOf returns what a script has answered for a filter of its shape.
func (h *hub) answerOf(got send.Answer, err error) (replayed bool, numbers []int64, _ error) {
	if err != nil {
		return false, nil, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return false, nil, err
	}
	switch what, err := parts[0].AsInt64(); {
	case err != nil:
		return false, nil, err
	case what == 0:
		texts := textsOf(parts[1:])
		return got.Replayed, nil, &changedError{texts[0], texts[1]}
	case what == 2:
		h.plain.Store(true)
	}
	numbers = make([]int64, len(parts)-1)
	for i := range numbers {
		if numbers[i], err = parts[i+1].AsInt64(); err != nil {
			return false, nil, err
		}
	}
	return got.Replayed, numbers, nil
}

// add adds values to a filter of that shape. With tell it returns 1 for each that was new.
func (h *hub) add(ctx context.Context, key string, s shape, values []hash, tell bool) (replayed bool, fresh []int64, err error) {
	if err := h.e.Open(); err != nil {
		return false, nil, err
	}
	size, hashes := s.texts()
	args := append(make([]string, 0, 3+len(values)*s.k), size, hashes, "")
	if tell {
		args[2] = "new"
	}
	return h.answerOf(h.e.RunBriefly(ctx, addScript, keysOf(key), s.appendBits(args, values)))
}

// count returns how many bits are set between two bytes of a filter of that shape.
func (h *hub) count(ctx context.Context, key string, s shape, first, last int64) (int64, error) {
	if err := h.e.Open(); err != nil {
		return 0, err
	}
	bytes := []string{strconv.FormatInt(first, 10), strconv.FormatInt(last, 10)}
	if h.transacts() {
		got, err := h.transact(ctx, "bloom count", key, s, bitcount, bytes)
		if err == nil {
			return got.AsInt64()
		}
		if !h.without(err) {
			return 0, err
		}
	}
	size, hashes := s.texts()
	_, set, err := h.answerOf(h.e.Run(ctx, lookScript, keysOf(key), append([]string{size, hashes, "count"}, bytes...)))
	if err != nil || len(set) != 1 {
		return 0, err
	}
	return set[0], nil
}

// isChanged reports whether the filter has another shape than the handle knows.
func isChanged(err error) bool { return errors.As(err, new(*changedError)) }
