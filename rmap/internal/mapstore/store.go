package mapstore

import (
	"context"
	"iter"
	"slices"

	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/turn"
)

// Store is a map as the server has it: keys and values are bytes. Each kind of
// map has its own. A context lends its values, and ends the sending again; the
// wait for an answer it ends only of Get. The keys of one call fit into one
// command.
type Store interface {
	Get(ctx context.Context, key string) (Value, error)
	GetMany(ctx context.Context, keys []string) ([]Value, error)
	Has(ctx context.Context, key string) (bool, error)
	Length(ctx context.Context) (int64, error)

	Put(ctx context.Context, pairs []string, l Lifetime) error
	Remove(ctx context.Context, keys []string) (int64, error)
	Clear(ctx context.Context) error

	Swap(ctx context.Context, key, text string, l Lifetime) (old Value, err error)
	Take(ctx context.Context, key string) (Value, error)
	// PutIfAbsent returns what is there instead.
	PutIfAbsent(ctx context.Context, key, text string, l Lifetime) (Value, error)
	Replace(ctx context.Context, key, text string, l Lifetime) (bool, error)
	// Change writes to, or removes the entry if to is none, if it is old. Else it
	// returns what is there. With a claim it looks whether another one goes first.
	Change(ctx context.Context, key string, old, to Value, l Lifetime, c *turn.Claim) (there Value, done bool, err error)
	// Add adds to an integer, or to a float. Without a sum it would be out of
	// bounds, and nothing was changed.
	Add(ctx context.Context, key string, by Addend, l Lifetime) (sum Value, err error)

	// Scan is one page. The cursor is "0" at the
	// beginning and at the end.
	Scan(ctx context.Context, a Asked) (ScanPage, error)

	// Random is up to n different keys.
	Random(ctx context.Context, n int) ([]string, error)

	// Server is which server has the map: another text after it was started anew.
	Server(ctx context.Context) (string, error)

	// Object is the keys that the map has in Redis, the name first.
	Object() []string
}

// Spread is a store of several hashes, which need not be on one server.
type Spread interface {
	Store
	// Home is the hash that an entry is in, by its encoded key.
	Home(key string) string
	// Parts are the hashes.
	Parts() iter.Seq[Store]
}

// EntryStore is the store of one entry, for callers that load it, and that change it under its lock.
type EntryStore interface {
	Leases
	Guards
}

// StoreOf returns the store of the entry of a key.
func (m *Handle[K, V]) StoreOf(key string) EntryStore {
	switch s := m.Store.(type) {
	case *Cached:
		return s
	case *Sharded:
		return s.at(key)
	}
	return &Plain{m.Sender()}
}

// Plain is a hash with one field for each entry. Where the server has them, and
// the kind of map allows it, fields have times to live.
type Plain struct{ Sender }

func (p *Plain) Object() []string { return []string{p.Key} }

func (p *Plain) Has(ctx context.Context, key string) (bool, error) {
	return send.Yes(p.Read(ctx, hexists, key))
}

func (p *Plain) Length(ctx context.Context) (int64, error) { return send.Number(p.Read(ctx, hlen)) }

func (p *Plain) Put(ctx context.Context, pairs []string, l Lifetime) (err error) {
	switch {
	case l.Stays() && !p.announces:
		_, err = p.command(ctx, hset, pairs...)
		return err
	case l.Stays() && p.announces && !p.ids:
		_, err = p.Hub.Engine.RunBriefly(ctx, PutToldScript, p.Keys(), p.putTold(pairs))
		return err
	}
	args := append(make([]string, 0, 2+len(pairs)+tellArgs), l.text(), Decimal(int64(3+len(pairs))))
	_, err = p.leasing(ctx, PutScript, l.text(), pairs, 2, p.tell(append(args, pairs...), pairs, 2)...)
	return err
}

func (p *Plain) Remove(ctx context.Context, keys []string) (int64, error) {
	if !p.announces && !p.Timed {
		return send.Number(p.command(ctx, hdel, keys...))
	}
	args := append([]string{Decimal(int64(2 + len(keys)))}, keys...)
	return send.Number(p.on(ctx, RemoveScript, p.tell(args, keys, 1)...))
}

func (p *Plain) Clear(ctx context.Context) error {
	_, err := p.DropAll(ctx)
	return err
}

func (p *Plain) Swap(ctx context.Context, key, text string, l Lifetime) (Value, error) {
	return found(p.Enters(ctx, SwapScript, l.text(), key, text, l.text()))
}

func (p *Plain) Take(ctx context.Context, key string) (Value, error) {
	return found(p.on(ctx, TakeScript, p.tellOne(key, key)...))
}

func (p *Plain) PutIfAbsent(ctx context.Context, key, text string, l Lifetime) (Value, error) {
	return found(p.Enters(ctx, PutIfAbsentScript, l.text(), key, text, l.text()))
}

func (p *Plain) Replace(ctx context.Context, key, text string, l Lifetime) (bool, error) {
	return send.Yes(p.Enters(ctx, ReplaceScript, l.text(), key, text, l.text()))
}

func (p *Plain) Change(ctx context.Context, key string, old, to Value, l Lifetime, c *turn.Claim) (there Value, done bool, err error) {
	was := Flag(old.There)
	if c.Looks() {
		was = "2"
	}
	args := []string{key, was, old.Text, Flag(to.There), to.Text, l.text()}
	var got send.Answer
	if c == nil {
		got, err = p.Enters(ctx, ChangeScript, l.text(), append(args, "0", "", "0")...)
	} else {
		got, err = p.claiming(ctx, key, args, l, c)
	}
	if err == nil && got.IsInt64() { // whether it was done, or that another goes first; else it is what is there
		n, err := got.AsInt64()
		return Value{}, c.May(n), err
	}
	there, err = found(got, err)
	return there, false, err
}

// claiming sends a change that looks at a claim. That is a second key, for which it would
// wait while the slot moves: there it looks at none.
func (p *Plain) claiming(ctx context.Context, key string, args []string, l Lifetime, c *turn.Claim) (send.Answer, error) {
	on := append(p.Keys(), keys.MapClaim(p.Key, key))
	looks := append(slices.Clone(args), Decimal(int64(len(on))), c.Token(), c.Millis())
	on = p.unleasing(on, l.text(), args[:1], 1)
	if p.ids || p.announces || l.text() != "" {
		return p.Write(ctx, ChangeScript, on, p.tellOne(key, looks...)...)
	}
	got, err := p.Hub.Engine.RunBriefly(ctx, send.NoMigrationRetry(ChangeScript), on, append([]string{"0"}, looks...))
	if err == nil || !send.Moving(err) {
		return got, err
	}
	return p.on(ctx, ChangeScript, append(args, "0", "", "0")...)
}

func (p *Plain) Add(ctx context.Context, key string, by Addend, l Lifetime) (Value, error) {
	switch {
	case p.ids || p.announces || by.Least != "" || by.Most != "" || l.added() != "":
		return found(p.Enters(ctx, AddScript, l.added(), key, by.Text, by.command().Label(), by.Least, by.Most, l.added()))
	}
	n, err := send.Number(p.command(ctx, hincrby, key, by.Text))
	return Value{Text: Decimal(n), There: true}, err
}

// Scan reads a page of the hash.
func (p *Plain) Scan(ctx context.Context, a Asked) (got ScanPage, err error) {
	if got.Page, err = hashscan.Read(ctx, p.Hub.Engine, p.Key, a.Ask, a.What != ScannedKeys); err != nil {
		return got, err
	}
	if a.What == ScannedKeys {
		got.Pairs = pairsOfKeys(got.Texts)
		return got, nil
	}
	got.Pairs = pairsOf(got.Texts)
	return got, got.fetch(func(key string) (Pair, error) {
		v, err := p.Get(ctx, key)
		return Pair{Key: key, Value: v}, err
	})
}

// on sends a script whose only key of the map is the hash.
func (p *Plain) on(ctx context.Context, script *scripts.Script, args ...string) (send.Answer, error) {
	return p.Write(ctx, script, p.Keys(), args...)
}

// Enters sends a script about one entry, whose field is its first argument; with a time
// to live it ends the lease of who loads that.
func (p *Plain) Enters(ctx context.Context, script *scripts.Script, ttl string, args ...string) (send.Answer, error) {
	return p.leasing(ctx, script, ttl, args[:1], 1, p.tellOne(args[0], args...)...)
}

// leasing sends a script that with a time to live ends the leases of entries. While the
// slot moves, what has several keys would wait: there it ends them before.
func (p *Plain) leasing(ctx context.Context, script *scripts.Script, ttl string, entries []string, step int, args ...string) (send.Answer, error) {
	on := p.unleasing(p.Keys(), ttl, entries, step)
	if ttl == "" || p.ids || p.announces {
		return p.Write(ctx, script, on, args...)
	}
	args = append([]string{"0"}, args...)
	got, err := p.Hub.Engine.RunBriefly(ctx, send.NoMigrationRetry(script), on, args)
	if err == nil || !send.Moving(err) {
		return got, err
	}
	for i := 0; i < len(entries); i += step {
		if err = p.Void(ctx, entries[i:i+1]); err != nil {
			return got, err
		}
	}
	return p.Hub.Engine.RunBriefly(ctx, script, p.Keys(), args)
}

// unleasing returns on, and with a time to live the leases of those who load the entries of
// these keys: each step-th is one. See unlease.lua.
func (p *Plain) unleasing(on []string, ttl string, entries []string, step int) []string {
	for i := 0; ttl != "" && i < len(entries); i += step {
		on = append(on, p.lease(entries[i]))
	}
	return on
}
