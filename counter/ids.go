package counter

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// IDs is a handle on an id generator: integers, each only once over all processes. A process takes blocks of
// ids from the server, and hands them out without a round trip. Ids rise within a block, and are in no order over processes.
// Ids of a block that a process does not use are never used.
//
// Clients go on with the blocks that they have after the generator was deleted by another client, or has expired, and then
// after these.
//
// Any number of goroutines may use a handle, and all handles of a client on one name share their blocks, which a client keeps
// for about a minute after the last use, and of 10,000 names at most.
type IDs struct {
	common
	h      *hub
	blocks atomic.Pointer[blocks] // those of the last call, which may be gone
}

// NewIDs returns a handle on the id generator of that name. Without [IDs.Init] the first id is 1, and a block has 5,000.
func NewIDs(c Client, name string) *IDs {
	h, o := newObject(c, "id generator", "string", name, keysOfIDs, nil)
	return &IDs{common: common{o}, h: h}
}

// keysOfIDs returns the keys of a generator: the next id, and how many are in a block.
func keysOfIDs(key string) []string { return []string{key, keys.IDBlock(key)} }

// Init sets the first id and how many ids are in a block, if the size of a block is not set, and reports whether it set that.
// It is called by each process at its start: one of them sets it. A large block makes Next cheap and the gaps wide, which a
// process leaves when it ends.
//
// Cost: one script call. Errors: [ErrInvalidArgument] if block is not above 0, or start + block is above 2^63-1;
// [ErrOutcomeUnknown], also if ctx ends before the answer: call again; ctx's error and cause; [ErrClosed]; Redis' and the
// network's. Source: RIdGenerator.tryInit, which takes blocks of 0 and less.
func (g *IDs) Init(ctx context.Context, start, block int64) (did bool, err error) {
	if err = g.o.Usable(ctx); err == nil && (block < 1 || start > math.MaxInt64-block) {
		err = fmt.Errorf("%w: a block of %d ids from %d: at least 1, which end below 2^63-1", ErrInvalidArgument, block, start)
	}
	if err == nil {
		did, err = whole.Write(ctx, g.o, send.Yes, idsInitScript, g.o.Keys, decimal(start), decimal(block))
	}
	return did, g.h.failed(g.o, "init", err)
}

// Next returns an id. It waits for a block if the client has none: until the server has answered, or ctx ends. The client
// takes the next block when half of the present one is used, so that a caller seldom waits.
//
// Cost: none, and one script call for each block; several blocks at once if one lasts less than 10 ms. Errors, after which
// Next may be called again: [ErrExhausted]; [ErrDecode] if a key holds no integer, or a block size that is not above 0;
// [ErrNotReplicated]; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RIdGenerator.nextId.
func (g *IDs) Next(ctx context.Context) (id int64, err error) {
	if err = g.o.Usable(ctx); err == nil {
		if id, there := g.quick(); there {
			return id, nil
		}
		id, err = g.wait(ctx, 1)
	}
	return id, g.h.failed(g.o, "take an id of", err)
}

// Range returns n ids in a row: from, and those after it up to to, which is not one of them. Ids of a block that has too few
// left stay for Next.
//
// Cost: none if the present block, or the next one, has them; else one script call. Errors: [ErrInvalidArgument] if n is below
// 1; as [IDs.Next]. Source: ours.
func (g *IDs) Range(ctx context.Context, n int64) (from, to int64, err error) {
	if err = g.o.Usable(ctx); err == nil && n < 1 {
		err = fmt.Errorf("%w: %d ids", ErrInvalidArgument, n)
	}
	if err == nil {
		from, err = g.wait(ctx, n)
	}
	if err != nil {
		return 0, 0, g.h.failed(g.o, "take ids of", err)
	}
	return from, from + n, nil
}

// Delete deletes the generator, and drops the blocks of this client. Other clients go on with their blocks, and then after
// them.
//
// Cost and errors: as Delete of the other objects.
// Source: RObject.delete, which leaves a block to each handle.
func (g *IDs) Delete(ctx context.Context) (there bool, err error) {
	all := &g.h.ids
	bs := all.takeOut(g.o.Key)
	if bs != nil && ctx != nil {
		if err = bs.idle(ctx); err != nil { // a fetch under way would begin the generator anew
			all.putBack(g.o.Key, bs)
			return false, g.h.failed(g.o, "delete", err)
		}
	}
	there, err = g.o.Delete(ctx)
	if bs != nil && err != nil && !send.MayHaveRun(err) {
		all.putBack(g.o.Key, bs)
	}
	return there, err
}

// quick returns an id of the present block.
func (g *IDs) quick() (id int64, there bool) {
	bs := g.blocks.Load()
	if bs == nil || bs.gone.Load() {
		return 0, false
	}
	b := bs.present.Load()
	i := b.next.Add(1) - 1
	if i >= b.size {
		return 0, false
	}
	if i >= b.mark.Load() {
		bs.ahead(b)
	}
	return b.start + i, true
}

// wait returns the first of n ids in a row, and waits for them.
func (g *IDs) wait(ctx context.Context, n int64) (from int64, err error) {
	for {
		bs := g.blocks.Load()
		if bs == nil || bs.gone.Load() {
			bs = g.h.ids.get(g.o)
			g.blocks.Store(bs)
		}
		from, there, f, own := bs.take(n)
		if there {
			return from, nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return 0, core.ContextError(ctx)
		}
		switch {
		case own:
			return f.from, f.err
		case f.err != nil && f.n == 0:
			return 0, f.err
		}
	}
}
