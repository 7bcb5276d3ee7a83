package peer

import "context"

// List is an RList of Redisson, as one Java thread uses it.
type List struct{ object }

// List returns the list of that name with a codec of its own; see [Peer.Map].
func (p *Peer) List(thread, name, codec string) List {
	return List{p.mapOf("list", thread, name, codec)}
}

// Add appends an element.
func (l List) Add(ctx context.Context, v Datum) (bool, error) { return l.truth(ctx, "add", v) }

// AddAt inserts an element.
func (l List) AddAt(ctx context.Context, i int, v Datum) error { return l.void(ctx, "addAt", i, v) }

// AddAllAt inserts elements.
func (l List) AddAllAt(ctx context.Context, i int, vs ...Datum) (bool, error) {
	args := []any{i}
	for _, v := range vs {
		args = append(args, v)
	}
	return l.truth(ctx, "addAllAt", args...)
}

// Get returns an element, null for none.
func (l List) Get(ctx context.Context, i int) (Datum, error) { return l.datum(ctx, "get", i) }

// Set replaces an element, and returns what was there.
func (l List) Set(ctx context.Context, i int, v Datum) (Datum, error) {
	return l.datum(ctx, "set", i, v)
}

// RemoveAt removes an element, and returns it.
func (l List) RemoveAt(ctx context.Context, i int) (Datum, error) { return l.datum(ctx, "removeAt", i) }

// Remove removes up to n elements, and says whether it did.
func (l List) Remove(ctx context.Context, v Datum, n int) (bool, error) {
	return l.truth(ctx, "remove", v, n)
}

// IndexOf returns the first index of an element, -1 for none.
func (l List) IndexOf(ctx context.Context, v Datum) (int64, error) {
	return l.number(ctx, "indexOf", v)
}

// LastIndexOf returns the last one.
func (l List) LastIndexOf(ctx context.Context, v Datum) (int64, error) {
	return l.number(ctx, "lastIndexOf", v)
}

// Range returns elements.
func (l List) Range(ctx context.Context, first, last int) ([]Datum, error) {
	return l.all(ctx, "range", first, last)
}

// ReadAll returns all of them.
func (l List) ReadAll(ctx context.Context) ([]Datum, error) { return l.all(ctx, "readAll") }

func (l List) all(ctx context.Context, operation string, args ...any) ([]Datum, error) {
	reply, err := l.do(ctx, operation, args...)
	if err != nil {
		return nil, err
	}
	return reply.data()
}

// Trim keeps a range.
func (l List) Trim(ctx context.Context, first, last int) error {
	return l.void(ctx, "trim", first, last)
}

// Size counts them.
func (l List) Size(ctx context.Context) (int64, error) { return l.number(ctx, "size") }
