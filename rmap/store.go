package rmap

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/scripts"
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
	// returns what is there.
	change(ctx context.Context, key string, old, to value, l lifetime) (there value, done bool, err error)
	// add adds to an integer, or to a float. Without a sum it would be out of
	// bounds, and nothing was changed.
	add(ctx context.Context, key string, by addend, l lifetime) (sum value, err error)

	// scan is one page. The cursor is "0" at the
	// beginning and at the end.
	scan(ctx context.Context, cursor, match string, page int) (next string, pairs []pair, err error)

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

// plain is a hash with one field for each entry. Where the server has them, and
// the kind of map allows it, fields have times to live.
type plain struct{ sender }

func (p *plain) object() []string { return []string{p.key} }

func (p *plain) get(ctx context.Context, key string) (value, error) {
	return p.h.gets.Do(ctx, p.key, getAsk{key, p.h.sizeOf(p.key)})
}

func (p *plain) getMany(ctx context.Context, keys []string) ([]value, error) {
	return values(p.h.e.Run(ctx, hmget, []string{p.key}, keys))
}

func (p *plain) has(ctx context.Context, key string) (bool, error) {
	return engine.Yes(p.read(ctx, hexists, key))
}

func (p *plain) length(ctx context.Context) (int64, error) { return engine.Number(p.read(ctx, hlen)) }

func (p *plain) put(ctx context.Context, pairs []string, l lifetime) (err error) {
	switch {
	case l == (lifetime{}) && !p.announces:
		_, err = p.command(ctx, hset, pairs...)
		return err
	case l == (lifetime{}) && !p.ids:
		_, err = p.h.e.Run(ctx, putToldScript, p.keys(), p.putTold(pairs))
		return err
	}
	args := append(make([]string, 0, 2+len(pairs)+tellArgs), l.text(), decimal(int64(3+len(pairs))))
	_, err = p.on(ctx, putScript, p.tell(append(args, pairs...), pairs, 2)...)
	return err
}

func (p *plain) remove(ctx context.Context, keys []string) (int64, error) {
	if !p.announces {
		return engine.Number(p.command(ctx, hdel, keys...))
	}
	args := append([]string{decimal(int64(2 + len(keys)))}, keys...)
	return engine.Number(p.on(ctx, removeScript, p.tell(args, keys, 1)...))
}

func (p *plain) clear(ctx context.Context) error {
	_, err := p.dropAll(ctx)
	return err
}

func (p *plain) swap(ctx context.Context, key, text string, l lifetime) (value, error) {
	return found(p.on(ctx, swapScript, p.tellOne(key, key, text, l.text())...))
}

func (p *plain) take(ctx context.Context, key string) (value, error) {
	return found(p.on(ctx, takeScript, p.tellOne(key, key)...))
}

func (p *plain) putIfAbsent(ctx context.Context, key, text string, l lifetime) (value, error) {
	return found(p.on(ctx, putIfAbsentScript, p.tellOne(key, key, text, l.text())...))
}

func (p *plain) replace(ctx context.Context, key, text string, l lifetime) (bool, error) {
	return engine.Yes(p.on(ctx, replaceScript, p.tellOne(key, key, text, l.text())...))
}

func (p *plain) change(ctx context.Context, key string, old, to value, l lifetime) (value, bool, error) {
	return changed(p.on(ctx, changeScript, p.tellOne(key, append(changeArgs(key, old, to), l.text())...)...))
}

func (p *plain) add(ctx context.Context, key string, by addend, l lifetime) (value, error) {
	switch {
	case p.ids || p.announces || by.least != "" || by.most != "" || l.ttl > 0:
		return found(p.on(ctx, addScript, p.tellOne(key, key, by.text, by.command().Label(), by.least, by.most, l.added())...))
	}
	n, err := engine.Number(p.command(ctx, hincrby, key, by.text))
	return value{text: decimal(n), there: true}, err
}

func (p *plain) scan(ctx context.Context, cursor, match string, page int) (string, []pair, error) {
	return scanned(p.read(ctx, hscan, scanArgs(cursor, match, page)...))
}

// on sends a script whose only key of the map is the hash.
func (p *plain) on(ctx context.Context, script *scripts.Script, args ...string) (engine.Answer, error) {
	return p.write(ctx, script, p.keys(), args...)
}
