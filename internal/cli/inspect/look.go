package inspect

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

// finding describes an object that is no lock.
type finding interface {
	print(w io.Writer)
	kind() string // as inspect calls it
}

// Look is a look at one name.
type Look struct {
	*tool.Tool
	Redis rueidis.Client
	Name  string
	Brief bool // only the kind matters, and only what the name itself has
}

// Kinds of names that other commands ask for. A kind of lock is one of the locks' own words.
const (
	KindNone         = "none"    // there is no key
	KindUnknown      = "unknown" // a key that no object has
	kindLock         = "lock"    // of any kind
	KindMap          = "map"
	KindTTLMap       = "ttl map"
	KindCache        = "cache"
	KindSharded      = "sharded map"
	KindListMultimap = "list multimap"
	KindSetMultimap  = "set multimap"
	KindBounded      = "bounded queue"
	KindRing         = "ring buffer"
	KindPriority     = "priority queue"
	KindDelayed      = "delayed queue"
)

// Seen holds what a look has found.
type Seen struct {
	Kind   string // as inspect calls it
	Shards int    // of a sharded map
	show   func() error
}

// seenOf returns what a finding says of its object. A finding that is nil is of a lock.
func seenOf(found finding) Seen {
	if found == nil {
		return Seen{Kind: kindLock}
	}
	seen := Seen{Kind: found.kind()}
	if sharded, is := found.(*shardedFound); is {
		seen.Shards = sharded.Shards
	}
	return seen
}

// See returns what a name is of.
func (l *Look) See(ctx context.Context) (Seen, error) {
	found, err := l.object(ctx)
	if err != nil {
		return Seen{}, err
	}
	return seenOf(found), nil
}

// Kind returns what a name is of, in the words of inspect.
func (l *Look) Kind(ctx context.Context) (string, error) {
	seen, err := l.See(ctx)
	return seen.Kind, err
}

// nobody is what a name without a key is of.
var nobody finding = nothing{}

type nothing struct{}

func (nothing) print(io.Writer) {}

func (nothing) kind() string { return KindNone }

// readKey looks at a key of one type.
type readKey func(l *Look, ctx context.Context) (finding, error)

// readings are the types that objects have. A key of another type is no object's.
var readings = map[string]readKey{
	"none":   (*Look).absent,
	"hash":   (*Look).hash,
	"string": (*Look).text,
	"list":   (*Look).list,
	"zset":   (*Look).sorted,
	"stream": (*Look).stream,
}

// object returns what name is of, nobody perhaps. nil: it is a lock's.
func (l *Look) object(ctx context.Context) (finding, error) {
	is, err := l.Redis.Do(ctx, l.Redis.B().Type().Key(l.Name).Build()).ToString()
	if err != nil {
		return nil, err
	}
	if is == "none" && l.Brief {
		return nobody, nil
	}
	if read, known := readings[is]; known {
		return read(l, ctx)
	}
	return l.other(ctx, is)
}

// absent finds the object of a name that has no key itself, from the other keys of the name. It leaves out locks.
func (l *Look) absent(ctx context.Context) (finding, error) {
	b := l.Redis.B()
	n, err := l.numbers(ctx, b.Exists().Key(Prefixed("redisson_lock_queue", l.Name)).Build(),
		b.Exists().Key(Prefixed("redisson_lock_token", l.Name)).Build(), b.Exists().Key(Prefixed("rueidisson_term", l.Name)).Build())
	if err != nil || n[0]+n[1]+n[2] > 0 {
		return nobody, err
	}
	if f, err := l.traced(ctx); f != nil || err != nil {
		return f, err
	}
	return nobody, nil
}

// hash finds out the kind of the object of a hash is.
func (l *Look) hash(ctx context.Context) (finding, error) {
	h, err := readHash(ctx, l.Redis, l.Name)
	switch {
	case err != nil:
		return nil, err
	case h.entries == 0:
		return nobody, nil // it has gone meanwhile
	case h.cache():
		return l.asMap(ctx, h, KindCache)
	}
	if g := h.asGroup(); g != nil {
		return g, nil
	}
	if m, err := l.multimap(ctx, h); m != nil || err != nil {
		return m, err
	}
	if b := h.asBarrier(); b != nil {
		return b, l.arrived(ctx, b)
	}
	if r := h.asRedissonLimiter(); r != nil {
		return r, nil
	}
	if ofLock(h.page) {
		return nil, nil
	}
	kind := KindMap
	if !l.Brief && l.timed(ctx, h) {
		kind = KindTTLMap
	}
	return l.asMap(ctx, h, kind)
}

// numbers returns what commands say that answer with numbers.
func (l *Look) numbers(ctx context.Context, each ...rueidis.Completed) ([]int64, error) {
	got := make([]int64, len(each))
	for i, answer := range l.Redis.DoMulti(ctx, each...) {
		var err error
		if got[i], err = answer.AsInt64(); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// otherFound describes a key of no known object.
type otherFound struct {
	Name        string           `json:"name"`
	Kind        string           `json:"kind"` // kindUnknown
	Held        bool             `json:"held"` // never
	Type        string           `json:"type"`
	Size        int64            `json:"size"`
	Unit        string           `json:"unit"` // of the size: bytes or members
	Guards      map[string]int64 `json:"guards,omitempty"`
	RemainingMS int64            `json:"remaining_ms"`
}

// other reads the type and the size of a key that belongs to no known object.
func (l *Look) other(ctx context.Context, is string) (finding, error) {
	if l.Brief {
		return &otherFound{Name: l.Name, Kind: KindUnknown, Type: is}, nil
	}
	b := l.Redis.B()
	f := &otherFound{Name: l.Name, Kind: KindUnknown, Type: is, Unit: "bytes"}
	size := b.MemoryUsage().Key(l.Name).Build()
	switch is {
	case "string":
		size = b.Strlen().Key(l.Name).Build()
	case "set":
		f.Unit, size = "members", b.Scard().Key(l.Name).Build()
	}
	answers := l.Redis.DoMulti(ctx, b.Pttl().Key(l.Name).Build(), size)
	var err error
	if f.RemainingMS, err = answers[0].AsInt64(); err != nil {
		return nil, err
	}
	if f.Size, err = answers[1].AsInt64(); err != nil && !rueidis.IsRedisNil(err) {
		return nil, err
	}
	f.RemainingMS = max(f.RemainingMS, -1)
	f.Guards, err = l.guards(ctx)
	return f, err
}

func (o *otherFound) kind() string { return o.Kind }

func (o *otherFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\ntype\t%s\nsize\t%d %s\n", o.Name, o.Kind, o.Type, o.Size, o.Unit)
	printGuards(w, o.Guards)
	fmt.Fprint(w, ended(o.RemainingMS))
}

// guards returns locks that guard a key, each with the highest token that has written it: some of them, if there are many.
func (l *Look) guards(ctx context.Context) (map[string]int64, error) {
	page, err := l.Redis.Do(ctx, l.Redis.B().Hscan().Key(Companion(l.Name, "rueidisson_fence")).Cursor(0).Count(100).Build()).AsScanEntry()
	if err != nil || len(page.Elements) == 0 {
		return nil, err
	}
	all := map[string]int64{}
	for i := 0; i+1 < len(page.Elements); i += 2 {
		number, _, _ := strings.Cut(page.Elements[i+1], " ") // the owner may follow
		all[page.Elements[i]], _ = strconv.ParseInt(number, 10, 64)
	}
	return all, nil
}

func printGuards(w io.Writer, guards map[string]int64) {
	for _, lock := range slices.Sorted(maps.Keys(guards)) {
		fmt.Fprintf(w, "guard\t%s, token %d\n", values.Printable(lock), guards[lock])
	}
}

// ended returns a time to live as people read it, "" if there is none.
func ended(ms int64) string {
	if ms < 0 {
		return ""
	}
	return fmt.Sprintf("remaining\t%s\n", time.Duration(ms)*time.Millisecond)
}
