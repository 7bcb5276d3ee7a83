package fence

import "context"

// NewContext returns a child of ctx that carries t. The contexts of a fenced
// lock's hold carry the hold's; this is for a token that came another way, such
// as by a header.
func NewContext(ctx context.Context, t Token) context.Context { return &carrier{ctx, t} }

// FromContext returns the innermost token that ctx carries. It stays when its hold has
// ended: what is written late must be refused for its number, not for the lack
// of one.
func FromContext(ctx context.Context) (Token, bool) { return carried(ctx, wanted{}) }

// OfLock returns the innermost token of that lock that ctx carries, for work that is
// done under several.
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
