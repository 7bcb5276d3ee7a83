package rmap

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
	loadLookScript = scripts.Must(lua, "lua/load_look.lua")
	loadPutScript  = scripts.Must(lua, "lua/load_put.lua")
	loadEndScript  = scripts.Must(lua, "lua/load_end.lua")
	loadKeepScript = scripts.Must(lua, "lua/load_keep.lua")

	// Without its lease a load writes nothing, whenever that has gone.
	unlease = scripts.NewCommand("UNLINK", scripts.Safe)
)

// lease protects the load of one entry: only its holder in the fleet loads the entry. A write or
// a removal of the entry deletes it.
type lease struct {
	key   string // of the entry
	token string
	lasts time.Duration
}

// How the lease is asked for.
const (
	ifAbsent = ""      // unless there is an entry
	ahead    = "ahead" // also if there is one
	mine     = "mine"  // also from another holder
)

// look is what a look at an entry has found: the entry; the queued change that the store will
// have; the lease, now acquired by the caller; or the lease of another.
type look struct {
	entry value
	gone  bool          // the store does not know yet that it was removed
	later bool          // the entry is the store's to come
	left  time.Duration // of another's lease
	other string        // its token
}

// granted reports whether the lease is the caller's.
func (l look) granted() bool { return !l.entry.there && !l.gone && l.left == 0 }

// leases is what a store does for those who load.
type leases interface {
	ask(ctx context.Context, l lease, how string) (look, error)
	// loaded writes an entry under a lease, or removes it if there is none now, if
	// what is there is what was seen. It is false, and nothing was written, if the
	// lease is not there any more either.
	loaded(ctx context.Context, l lease, now, seen value, lives lifetime) (bool, error)
	// keep lets the caller have its lease for as long again.
	keep(ctx context.Context, l lease) error
	// ended gives a lease back, and reports whether it was there still.
	ended(ctx context.Context, l lease, what string) (bool, error)
	// void has loads that are under way write nothing.
	void(ctx context.Context, keys []string) error
}

// loaded says how many shards there are before it writes to one.
func (p *shard) loaded(ctx context.Context, l lease, now, seen value, lives lifetime) (bool, error) {
	if err := p.of.check(ctx, true); err != nil {
		return false, err
	}
	did, err := p.plain.loaded(ctx, l, now, seen, lives)
	return did, p.named(err)
}

func (p *plain) lease(key string) string { return keys.MapLoad(p.key, key) }

func (p *plain) ask(ctx context.Context, l lease, how string) (look, error) {
	on := []string{p.key, p.lease(l.key), keys.MapWrites(p.key), keys.MapPending(p.key)}
	args := []string{l.token, millis(l.lasts), how, l.key}
	return looked(p.h.e.Run(ctx, readToLoad, on, args))
}

func (p *plain) loaded(ctx context.Context, l lease, now, seen value, lives lifetime) (bool, error) {
	on := []string{p.key, keys.NearLog(p.key), p.lease(l.key), keys.MapWrites(p.key), keys.MapPending(p.key)}
	args := p.tellOne(l.key, l.token, p.h.e.Publish(), keys.MapLoaded(p.key, l.key), l.key, seenText(now), seenText(seen), lives.text())
	return send.Yes(p.h.e.Run(ctx, loadPutScript, on, args))
}

func (p *plain) ended(ctx context.Context, l lease, what string) (bool, error) {
	return p.sender.endLease(ctx, p.lease(l.key), l, what)
}

func (p *plain) void(ctx context.Context, ks []string) error {
	on := make([]string, len(ks))
	for i, key := range ks {
		on[i] = p.lease(key)
	}
	_, err := p.h.e.Run(ctx, unlease, on, nil)
	return err
}

func (c *cached) ask(ctx context.Context, l lease, how string) (look, error) {
	on := c.loading(l)
	got, err := looked(c.h.e.Run(ctx, readToLoadCached, on, []string{l.token, c.now(), millis(l.lasts), how, l.key}))
	if !got.later {
		got.entry = opened(got.entry)
	}
	return got, err
}

func (c *cached) loading(l lease) []string {
	return append(c.n.All(), c.n.Lease(l.key), keys.MapWrites(c.key), keys.MapPending(c.key))
}

func (c *cached) loaded(ctx context.Context, l lease, now, seen value, lives lifetime) (bool, error) {
	at, on, packed := c.h.e.Wall(), c.loading(l), ""
	if now.there {
		packed = lives.pack(now.text)
	}
	args := []string{
		l.token, decimal(at), c.publish([]string{l.key}, 1), keys.MapLoaded(c.key, l.key), l.key, packed,
		lives.life().Ends(at), lives.life().Rests(at), seenText(seen),
	}
	m, err := c.written(lives, at)(c.h.e.Run(ctx, mapcache.LoadPut, on, args))
	if err != nil {
		return false, err
	}
	n, err := m.AsInt64()
	return n > 0, err
}

func (c *cached) ended(ctx context.Context, l lease, what string) (bool, error) {
	return c.endLease(ctx, c.n.Lease(l.key), l, what)
}

// void has nothing to do: every write of a cache ends the lease itself.
func (c *cached) void(context.Context, []string) error { return nil }

func (p *plain) keep(ctx context.Context, l lease) error { return p.keepLease(ctx, p.lease(l.key), l) }

func (c *cached) keep(ctx context.Context, l lease) error {
	return c.keepLease(ctx, c.n.Lease(l.key), l)
}

func (s *sender) keepLease(ctx context.Context, on string, l lease) error {
	_, err := s.h.e.Run(ctx, loadKeepScript, []string{on}, []string{l.token, millis(l.lasts)})
	return err
}

func (s *sender) endLease(ctx context.Context, on string, l lease, what string) (bool, error) {
	args := []string{l.token, s.h.e.Publish(), keys.MapLoaded(s.key, l.key), what}
	return send.Yes(s.h.e.Run(ctx, loadEndScript, []string{on}, args))
}

// looked returns the answer of load_look.lua.
func looked(got send.Answer, err error) (l look, _ error) {
	switch {
	case err != nil:
		return l, err
	case got.IsInt64():
		return l, nil
	case got.IsString():
		l.entry, err = element(&got.RedisMessage)
		return l, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return l, err
	}
	if len(parts) == 1 {
		l.entry, err = element(&parts[0])
		l.entry = seenAs(l.entry.text)
		l.gone, l.later = !l.entry.there, true
		return l, err
	}
	ms, err := parts[0].AsInt64()
	if err != nil {
		return l, err
	}
	l.left = time.Duration(ms) * time.Millisecond
	l.other, err = parts[1].ToString()
	return l, err
}

func seenText(seen value) string {
	if !seen.there {
		return ""
	}
	return "=" + seen.text
}

// seenAs returns what seenText made a text of.
func seenAs(text string) value {
	if text == "" {
		return value{}
	}
	return value{text: text[1:], there: true}
}

func millis(d time.Duration) string { return decimal(core.Millis(d)) }
