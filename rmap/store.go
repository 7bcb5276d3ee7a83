package rmap

import (
	"context"
	"iter"
	"slices"

	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// store is a map as the server has it: keys and values are bytes. Each kind of
// map has its own. A context lends its values, and ends the sending again; the
// wait for an answer it ends only of get. The keys of one call fit into one
// command.
type store interface {
	get(ctx context.Context, key string) (value, error)
	getMany(ctx context.Context, keys []string) ([]value, error)
	has(ctx context.Context, key string) (bool, error)
	length(ctx context.Context) (int64, error)

	put(ctx context.Context, pairs []string, l lifetime) error
	remove(ctx context.Context, keys []string) (int64, error)
	clear(ctx context.Context) error

	swap(ctx context.Context, key, text string, l lifetime) (old value, err error)
	take(ctx context.Context, key string) (value, error)
	// putIfAbsent returns what is there instead.
	putIfAbsent(ctx context.Context, key, text string, l lifetime) (value, error)
	replace(ctx context.Context, key, text string, l lifetime) (bool, error)
	// change writes to, or removes the entry if to is none, if it is old. Else it
	// returns what is there. With a claim it looks whether another one goes first.
	change(ctx context.Context, key string, old, to value, l lifetime, c *claim) (there value, done bool, err error)
	// add adds to an integer, or to a float. Without a sum it would be out of
	// bounds, and nothing was changed.
	add(ctx context.Context, key string, by addend, l lifetime) (sum value, err error)

	// scan is one page. The cursor is "0" at the
	// beginning and at the end.
	scan(ctx context.Context, a asked) (scanPage, error)

	// random is up to n different keys.
	random(ctx context.Context, n int) ([]string, error)

	// server is which server has the map: another text after it was started anew.
	server(ctx context.Context) (string, error)

	// object is the keys that the map has in Redis, the name first.
	object() []string
}

// spread is a store of several hashes, which need not be on one server.
type spread interface {
	store
	// home is the hash that an entry is in, by its encoded key.
	home(key string) string
	// parts are the hashes.
	parts() iter.Seq[store]
}

// entryStore is what the store of one entry does for callers that load it, and that change it under its lock.
type entryStore interface {
	leases
	guards
}

// storeOf returns the store of the entry of a key.
func (m *handle[K, V]) storeOf(key string) entryStore {
	switch s := m.store.(type) {
	case *cached:
		return s
	case *sharded:
		return s.at(key)
	}
	return &plain{m.sender()}
}

// plain is a hash with one field for each entry. Where the server has them, and
// the kind of map allows it, fields have times to live.
type plain struct{ sender }

func (p *plain) object() []string { return []string{p.key} }

func (p *plain) has(ctx context.Context, key string) (bool, error) {
	return send.Yes(p.read(ctx, hexists, key))
}

func (p *plain) length(ctx context.Context) (int64, error) { return send.Number(p.read(ctx, hlen)) }

func (p *plain) put(ctx context.Context, pairs []string, l lifetime) (err error) {
	switch {
	case l.stays() && !p.announces:
		_, err = p.command(ctx, hset, pairs...)
		return err
	case l.stays() && p.announces && !p.ids:
		_, err = p.h.e.RunBriefly(ctx, putToldScript, p.keys(), p.putTold(pairs))
		return err
	}
	args := append(make([]string, 0, 2+len(pairs)+tellArgs), l.text(), decimal(int64(3+len(pairs))))
	_, err = p.leasing(ctx, putScript, l.text(), pairs, 2, p.tell(append(args, pairs...), pairs, 2)...)
	return err
}

func (p *plain) remove(ctx context.Context, keys []string) (int64, error) {
	if !p.announces && !p.timed {
		return send.Number(p.command(ctx, hdel, keys...))
	}
	args := append([]string{decimal(int64(2 + len(keys)))}, keys...)
	return send.Number(p.on(ctx, removeScript, p.tell(args, keys, 1)...))
}

func (p *plain) clear(ctx context.Context) error {
	_, err := p.dropAll(ctx)
	return err
}

func (p *plain) swap(ctx context.Context, key, text string, l lifetime) (value, error) {
	return found(p.enters(ctx, swapScript, l.text(), key, text, l.text()))
}

func (p *plain) take(ctx context.Context, key string) (value, error) {
	return found(p.on(ctx, takeScript, p.tellOne(key, key)...))
}

func (p *plain) putIfAbsent(ctx context.Context, key, text string, l lifetime) (value, error) {
	return found(p.enters(ctx, putIfAbsentScript, l.text(), key, text, l.text()))
}

func (p *plain) replace(ctx context.Context, key, text string, l lifetime) (bool, error) {
	return send.Yes(p.enters(ctx, replaceScript, l.text(), key, text, l.text()))
}

func (p *plain) change(ctx context.Context, key string, old, to value, l lifetime, c *claim) (there value, done bool, err error) {
	was := flag(old.there)
	if c != nil && c.looks {
		was = "2"
	}
	args := []string{key, was, old.text, flag(to.there), to.text, l.text()}
	var got send.Answer
	if c == nil {
		got, err = p.enters(ctx, changeScript, l.text(), append(args, "0", "", "0")...)
	} else {
		got, err = p.claiming(ctx, key, args, l, c)
	}
	if err == nil && got.IsInt64() { // whether it was done, or that another goes first; else it is what is there
		n, err := got.AsInt64()
		return value{}, c.may(n), err
	}
	there, err = found(got, err)
	return there, false, err
}

// claiming sends a change that looks at a claim. That is a second key, for which it would
// wait while the slot moves: there it looks at none.
func (p *plain) claiming(ctx context.Context, key string, args []string, l lifetime, c *claim) (send.Answer, error) {
	on := append(p.keys(), keys.MapClaim(p.key, key))
	looks := append(slices.Clone(args), decimal(int64(len(on))), c.token, c.millis())
	on = p.unleasing(on, l.text(), args[:1], 1)
	if p.ids || p.announces || l.text() != "" {
		return p.write(ctx, changeScript, on, p.tellOne(key, looks...)...)
	}
	got, err := p.h.e.RunBriefly(ctx, send.NoMigrationRetry(changeScript), on, append([]string{"0"}, looks...))
	if err == nil || !send.Moving(err) {
		return got, err
	}
	return p.on(ctx, changeScript, append(args, "0", "", "0")...)
}

func (p *plain) add(ctx context.Context, key string, by addend, l lifetime) (value, error) {
	switch {
	case p.ids || p.announces || by.least != "" || by.most != "" || l.added() != "":
		return found(p.enters(ctx, addScript, l.added(), key, by.text, by.command().Label(), by.least, by.most, l.added()))
	}
	n, err := send.Number(p.command(ctx, hincrby, key, by.text))
	return value{text: decimal(n), there: true}, err
}

// scan reads a page of the hash.
func (p *plain) scan(ctx context.Context, a asked) (got scanPage, err error) {
	if got.Page, err = hashscan.Read(ctx, p.h.e, p.key, a.Ask, a.what != scannedKeys); err != nil {
		return got, err
	}
	if a.what == scannedKeys {
		got.pairs = pairsOfKeys(got.Texts)
		return got, nil
	}
	got.pairs = pairsOf(got.Texts)
	return got, got.fetch(func(key string) (pair, error) {
		v, err := p.get(ctx, key)
		return pair{key: key, value: v}, err
	})
}

// on sends a script whose only key of the map is the hash.
func (p *plain) on(ctx context.Context, script *scripts.Script, args ...string) (send.Answer, error) {
	return p.write(ctx, script, p.keys(), args...)
}

// enters sends a script about one entry, whose field is its first argument; with a time
// to live it ends the lease of who loads that.
func (p *plain) enters(ctx context.Context, script *scripts.Script, ttl string, args ...string) (send.Answer, error) {
	return p.leasing(ctx, script, ttl, args[:1], 1, p.tellOne(args[0], args...)...)
}

// leasing sends a script that with a time to live ends the leases of entries. While the
// slot moves, what has several keys would wait: there it ends them before.
func (p *plain) leasing(ctx context.Context, script *scripts.Script, ttl string, entries []string, step int, args ...string) (send.Answer, error) {
	on := p.unleasing(p.keys(), ttl, entries, step)
	if ttl == "" || p.ids || p.announces {
		return p.write(ctx, script, on, args...)
	}
	args = append([]string{"0"}, args...)
	got, err := p.h.e.RunBriefly(ctx, send.NoMigrationRetry(script), on, args)
	if err == nil || !send.Moving(err) {
		return got, err
	}
	for i := 0; i < len(entries); i += step {
		if err = p.void(ctx, entries[i:i+1]); err != nil {
			return got, err
		}
	}
	return p.h.e.RunBriefly(ctx, script, p.keys(), args)
}

// unleasing returns on, and with a time to live the leases of those who load the entries of
// these keys: each step-th is one. See unlease.lua.
func (p *plain) unleasing(on []string, ttl string, entries []string, step int) []string {
	for i := 0; ttl != "" && i < len(entries); i += step {
		on = append(on, p.lease(entries[i]))
	}
	return on
}
