package lock

import "context"

// Detach returns a child of ctx for work that must not take part in the holds
// that ctx carries, such as workers that exclude each other: it ends with ctx,
// so with the hold, for the same cause, and has its values. But locking a name
// under it waits for the lock as everybody does, instead of re-entering.
//
// Whoever holds the name must therefore not wait for such a worker: it waits
// for the holder.
func Detach(ctx context.Context) context.Context { return detached{ctx} }

type detached struct{ context.Context }

func (d detached) Value(key any) any {
	if _, ours := asked(key); ours {
		return nil
	}
	return d.Context.Value(key)
}
