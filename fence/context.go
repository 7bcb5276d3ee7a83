package fence

import "context"

// NewContext returns a child of ctx that carries t. The contexts of a fenced lock's hold carry the
// hold's token. NewContext is for a token from elsewhere, such as from a header.
func NewContext(ctx context.Context, t Token) context.Context { return &carrier{ctx, t} }

// FromContext returns the innermost token that ctx carries. The context still carries it after its
// hold has ended: late writes must be refused by their number, not for the lack of one.
func FromContext(ctx context.Context) (Token, bool) { return carried(ctx, wanted{}) }

// OfLock returns the innermost token of that lock that ctx carries, for work under several locks.
func OfLock(ctx context.Context, lock string) (Token, bool) { return carried(ctx, wanted{lock}) }

func carried(ctx context.Context, key wanted) (Token, bool) {
	c, ok := ctx.Value(key).(*carrier)
	if !ok {
		return Token{}, false
	}
	return c.token, true
}

// carrier is a context with a token.
type carrier struct {
	context.Context
	token Token
}

// wanted asks a context for the token of a lock, or of any.
type wanted struct{ lock string }

func (c *carrier) Value(key any) any {
	if w, ours := key.(wanted); ours && (w.lock == "" || w.lock == c.token.lock) && !c.token.IsZero() {
		return c
	}
	return c.Context.Value(key)
}
