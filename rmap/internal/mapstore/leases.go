package mapstore

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

var (
	LoadLookScript = scripts.Must(Lua, "lua/load_look.lua")
	LoadPutScript  = scripts.Must(Lua, "lua/load_put.lua")
	LoadEndScript  = scripts.Must(Lua, "lua/load_end.lua")
	loadKeepScript = scripts.Must(Lua, "lua/load_keep.lua")

	// Without its lease a load writes nothing, whenever that has gone.
	unlease = scripts.NewCommand("UNLINK", scripts.Safe)
)

// Lease protects the load of one entry: only its holder in the fleet loads the entry. A write or
// a removal of the entry deletes it.
type Lease struct {
	Key   string // of the entry
	Token string
	Lasts time.Duration
}

// How the lease is asked for.
const (
	IfAbsent = ""      // unless there is an entry
	Ahead    = "ahead" // also if there is one
	Mine     = "mine"  // also from another holder
)

// Look is what a look at an entry has found: the entry; the queued change that the store will
// have; the lease, now acquired by the caller; or the lease of another.
type Look struct {
	Entry Value
	Gone  bool          // the store does not know yet that it was removed
	Later bool          // the entry is the store's to come
	Left  time.Duration // of another's lease
	Other string        // its token

	Replayed bool // the reply to an earlier request was lost: that one may have taken the lease
}

// Granted reports whether the lease is the caller's.
func (l Look) Granted() bool { return !l.Entry.There && !l.Gone && l.Left == 0 }

// Leases is a store that has leases of loads.
type Leases interface {
	Ask(ctx context.Context, l Lease, how string) (Look, error)
	// Loaded writes an entry under a lease, or removes it if there is none now, if
	// what is there is what was seen. It is false, and nothing was written, if the
	// lease is not there any more either.
	Loaded(ctx context.Context, l Lease, now, seen Value, lives Lifetime) (bool, error)
	// Keep lets the caller have its lease for as long again.
	Keep(ctx context.Context, l Lease) error
	// Ended gives a lease back, and reports whether it was there still.
	Ended(ctx context.Context, l Lease, what string) (bool, error)
	// Void has loads that are under way write nothing.
	Void(ctx context.Context, keys []string) error
}

// Loaded says how many shards there are before it writes to one.
func (p *Shard) Loaded(ctx context.Context, l Lease, now, seen Value, lives Lifetime) (bool, error) {
	if err := p.of.check(ctx, true); err != nil {
		return false, err
	}
	did, err := p.Plain.Loaded(ctx, l, now, seen, lives)
	return did, p.named(err)
}

func (p *Plain) lease(key string) string { return keys.MapLoad(p.Key, key) }

func (p *Plain) Ask(ctx context.Context, l Lease, how string) (Look, error) {
	on := []string{p.Key, p.lease(l.Key), keys.MapWrites(p.Key), keys.MapPending(p.Key)}
	args := []string{l.Token, millis(l.Lasts), how, l.Key}
	return looked(p.Hub.Engine.Run(ctx, readToLoad, on, args))
}

func (p *Plain) Loaded(ctx context.Context, l Lease, now, seen Value, lives Lifetime) (bool, error) {
	on := []string{p.Key, keys.NearLog(p.Key), p.lease(l.Key), keys.MapWrites(p.Key), keys.MapPending(p.Key)}
	args := p.tellOne(l.Key, l.Token, p.Hub.Engine.Publish(), keys.MapLoaded(p.Key, l.Key), l.Key, SeenText(now), SeenText(seen), lives.text())
	return send.Yes(p.Hub.Engine.Run(ctx, LoadPutScript, on, args))
}

func (p *Plain) Ended(ctx context.Context, l Lease, what string) (bool, error) {
	return p.Sender.endLease(ctx, p.lease(l.Key), l, what)
}

func (p *Plain) Void(ctx context.Context, ks []string) error {
	on := make([]string, len(ks))
	for i, key := range ks {
		on[i] = p.lease(key)
	}
	_, err := p.Hub.Engine.Run(ctx, unlease, on, nil)
	return err
}

func (c *Cached) Ask(ctx context.Context, l Lease, how string) (Look, error) {
	on := c.loading(l)
	got, err := looked(c.Hub.Engine.Run(ctx, readToLoadCached, on, []string{l.Token, c.Now(), millis(l.Lasts), how, l.Key}))
	if !got.Later {
		got.Entry = opened(got.Entry)
	}
	return got, err
}

func (c *Cached) loading(l Lease) []string {
	return append(c.Names.All(), c.Names.Lease(l.Key), keys.MapWrites(c.Key), keys.MapPending(c.Key))
}

func (c *Cached) Loaded(ctx context.Context, l Lease, now, seen Value, lives Lifetime) (bool, error) {
	at, on, packed := c.Hub.Engine.Wall(), c.loading(l), ""
	if now.There {
		packed = lives.Pack(now.Text)
	}
	args := []string{
		l.Token, Decimal(at), c.publish([]string{l.Key}, 1), keys.MapLoaded(c.Key, l.Key), l.Key, packed,
		lives.life().Ends(at), lives.life().Rests(at), SeenText(seen),
	}
	m, err := c.written(lives, at)(c.Hub.Engine.Run(ctx, mapcache.LoadPut, on, args))
	if err != nil {
		return false, err
	}
	n, err := m.AsInt64()
	return n > 0, err
}

func (c *Cached) Ended(ctx context.Context, l Lease, what string) (bool, error) {
	return c.endLease(ctx, c.Names.Lease(l.Key), l, what)
}

// Void has nothing to do: every write of a cache ends the lease itself.
func (c *Cached) Void(context.Context, []string) error { return nil }

func (p *Plain) Keep(ctx context.Context, l Lease) error { return p.keepLease(ctx, p.lease(l.Key), l) }

func (c *Cached) Keep(ctx context.Context, l Lease) error {
	return c.keepLease(ctx, c.Names.Lease(l.Key), l)
}

func (s *Sender) keepLease(ctx context.Context, on string, l Lease) error {
	_, err := s.Hub.Engine.Run(ctx, loadKeepScript, []string{on}, []string{l.Token, millis(l.Lasts)})
	return err
}

func (s *Sender) endLease(ctx context.Context, on string, l Lease, what string) (bool, error) {
	args := []string{l.Token, s.Hub.Engine.Publish(), keys.MapLoaded(s.Key, l.Key), what}
	return send.Yes(s.Hub.Engine.Run(ctx, LoadEndScript, []string{on}, args))
}

// looked returns the answer of load_look.lua.
func looked(got send.Answer, err error) (l Look, _ error) {
	l.Replayed = got.Replayed
	switch {
	case err != nil:
		return l, err
	case got.IsInt64():
		return l, nil
	case got.IsString():
		l.Entry, err = element(&got.RedisMessage)
		return l, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return l, err
	}
	if len(parts) == 1 {
		l.Entry, err = element(&parts[0])
		l.Entry = seenAs(l.Entry.Text)
		l.Gone, l.Later = !l.Entry.There, true
		return l, err
	}
	ms, err := parts[0].AsInt64()
	if err != nil {
		return l, err
	}
	l.Left = time.Duration(ms) * time.Millisecond
	l.Other, err = parts[1].ToString()
	return l, err
}

// SeenText returns a value, or that there is none, for scripts.
func SeenText(seen Value) string {
	if !seen.There {
		return ""
	}
	return "=" + seen.Text
}

// seenAs returns what SeenText made a text of.
func seenAs(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{Text: text[1:], There: true}
}

func millis(d time.Duration) string { return Decimal(core.Millis(d)) }
