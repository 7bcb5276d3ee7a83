package peer

import (
	"context"
	"time"
)

// Document is an RJsonBucket of Redisson, as one Java thread uses it.
type Document struct{ object }

// Document returns the document of that name, read as values of a class, such as rueidisson.interop.Person, by JacksonCodec.
func (p *Peer) Document(thread, name, class string) Document {
	return Document{p.mapOf("document", thread, name, class)}
}

// Get returns the document, null for none.
func (d Document) Get(ctx context.Context) (Datum, error) { return d.datum(ctx, "get") }

// Set writes the document; with a time to live, if there is one.
func (d Document) Set(ctx context.Context, v Datum, ttl ...time.Duration) error {
	return d.void(ctx, "set", withTTL(ttl, v)...)
}

// SetIfAbsent says whether it wrote the document.
func (d Document) SetIfAbsent(ctx context.Context, v Datum) (bool, error) {
	return d.truth(ctx, "setIfAbsent", v)
}

// SetIfExists says whether it wrote the document.
func (d Document) SetIfExists(ctx context.Context, v Datum) (bool, error) {
	return d.truth(ctx, "setIfExists", v)
}

// GetAndSet returns the document before, null for none.
func (d Document) GetAndSet(ctx context.Context, v Datum) (Datum, error) {
	return d.datum(ctx, "getAndSet", v)
}

// GetAndDelete returns the document that it deleted, null for none.
func (d Document) GetAndDelete(ctx context.Context) (Datum, error) {
	return d.datum(ctx, "getAndDelete")
}

// CompareAndSet says whether the document was old, and is the other now.
func (d Document) CompareAndSet(ctx context.Context, old, v Datum) (bool, error) {
	return d.truth(ctx, "compareAndSet", old, v)
}

// RemainTimeToLive returns ms; -1: it has no end, -2: there is none.
func (d Document) RemainTimeToLive(ctx context.Context) (int64, error) {
	return d.number(ctx, "remainTimeToLive")
}

// GetAt returns what is at a path: an ArrayList for one with $.
func (d Document) GetAt(ctx context.Context, path string) (Datum, error) {
	return d.datum(ctx, "getAt", path)
}

// SetAt writes at a path.
func (d Document) SetAt(ctx context.Context, path string, v Datum) error {
	return d.void(ctx, "setAt", path, v)
}

// CompareAndSetAt says whether what is at a path was old, and is the other now.
func (d Document) CompareAndSetAt(ctx context.Context, path string, old, v Datum) (bool, error) {
	return d.truth(ctx, "compareAndSetAt", path, old, v)
}

// Add adds to the number at a path, and returns the new one. Java fails on a path with $, after it has added; so it does in
// StringAppend, ArrayAppend, ArrayInsert and ArraySize.
func (d Document) Add(ctx context.Context, path string, n int64) (int64, error) {
	return d.number(ctx, "add", path, n)
}

// StringAppend appends to the string at a path, and returns how long it is then.
func (d Document) StringAppend(ctx context.Context, path string, v Datum) (int64, error) {
	return d.number(ctx, "stringAppend", path, v)
}

// ArrayAppend adds an element to the array at a path, and returns how many it has then.
func (d Document) ArrayAppend(ctx context.Context, path string, v Datum) (int64, error) {
	return d.number(ctx, "arrayAppend", path, v)
}

// ArrayInsert adds an element before another one, and returns how many there are then.
func (d Document) ArrayInsert(ctx context.Context, path string, i int64, v Datum) (int64, error) {
	return d.number(ctx, "arrayInsert", path, i, v)
}

// ArraySize returns how many elements there are at a path.
func (d Document) ArraySize(ctx context.Context, path string) (int64, error) {
	return d.number(ctx, "arraySize", path)
}

// ToggleMulti returns which of true and false is at the first place of a path now. Java's toggle fails, after it has written.
func (d Document) ToggleMulti(ctx context.Context, path string) (bool, error) {
	return d.truth(ctx, "toggleMulti", path)
}

// Merge merges a patch at a path.
func (d Document) Merge(ctx context.Context, path string, v Datum) error {
	return d.void(ctx, "merge", path, v)
}

// DeleteAt returns at how many places it has deleted.
func (d Document) DeleteAt(ctx context.Context, path string) (int64, error) {
	return d.number(ctx, "deleteAt", path)
}
