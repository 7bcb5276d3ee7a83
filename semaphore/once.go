package semaphore

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
)

// releaseOnce gives n permits, unless the server knows the request already. Its caller
// goes on with it, so the client does not.
func (h *hub) releaseOnce(ctx context.Context, of *names, n int64, request send.CallerRequest) error {
	p := h.places.Get(of.key)
	defer h.places.Put(of.key, p)
	subscribed, before := h.e.Subscribed(of.channel), p.courtesy.Mark()
	got, err := h.e.Run(context.WithoutCancel(ctx), giveOnceScript, []string{of.key, keys.CallerRequest(of.key, request.ID)},
		[]string{decimal(n), decimal(core.Millis(request.Memory)), of.channel, h.e.Publish()})
	if err == nil && got.Nil {
		err = errNotSet
	}
	if err != nil {
		return err
	}
	said, err := got.AsIntSlice()
	switch {
	case err != nil:
		return err
	case len(said) != 2:
		return fmt.Errorf("%w: give_once.lua said %v", ErrUnknown, said)
	case said[1] == 0:
		return errTooMany
	case said[1] != n:
		return fmt.Errorf("%w: the request %q gave %d permits, not %d", ErrOption, request.ID, said[1], n)
	}
	p.courtesy.Released(int(said[0]), subscribed, before)
	p.gave(subscribed && p.courtesy.HeardSince(before))
	if h.e.Observer != nil {
		h.e.Observer.Released(context.WithoutCancel(ctx), label, of.key, false)
	}
	return nil
}
