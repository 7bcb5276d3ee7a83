package counter

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// hub is what the objects of this package share in one client.
type hub struct {
	e       *locking.Engine
	plain   *adds
	counted *adds // under request slots
	values  *combine.Table[string, []string, struct{}]
	ids     generators
	adders  adders
}

type hubKey struct{}

// flights is how many exchanges about one name may be under way.
const flights = 4

func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any {
		h := &hub{e: e}
		h.plain, h.counted = newAdds(h, false), newAdds(h, true)
		h.values = combine.New(combine.Config[string, []string, struct{}]{
			Send: h.sendValues, Cut: cutValues, Gone: gone, Sent: e.Sent("distinct"), Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
		})
		h.ids = generators{h: h, kept: idsKept, of: make(map[string]*blocks)}
		h.adders = adders{h: h, of: make(map[string]*localSum)}
		return h
	}).(*hub)
}

// gone returns the error of a caller whose context ended while its call was under way.
func gone(why error) error {
	return fmt.Errorf("%w: the wait for the reply ended: %w", ErrOutcomeUnknown, why)
}

// newObject returns an object of that name and its hub. err is that of its options.
func newObject(c Client, kind, of, name string, keysOf func(key string) []string, err error) (*hub, *whole.Object) {
	e := c.Engine()
	o := whole.New(e, kind, of, name, keysOf)
	if o.Bad = err; err == nil {
		o.Bad = object.CheckName(e, o.Key)
	}
	return hubOf(e), &o
}

// explain says in err what a key holds, or would hold, in the place of a number that fits.
func (h *hub) explain(ctx context.Context, key string, err error) error {
	kind := "integer"
	switch {
	case saysThat(err, overflow):
		return errOverflow
	case saysThat(err, infinite):
		return errInfinite
	case saysThat(err, noFloat):
		kind = "number"
	case !saysThat(err, noInteger):
		return err
	}
	n, look := send.Number(h.e.Run(ctx, strlen, []string{key}, nil))
	if look != nil {
		return fmt.Errorf("%w: %w", err, look)
	}
	return foreign(kind, n)
}

// failed adds the operation and the object to err, and notifies the observer.
func (h *hub) failed(o *whole.Object, op string, err error) error {
	h.e.Outcome(o.Kind, o.Key, op, err)
	return o.Failed(op, err)
}
