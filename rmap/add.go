package rmap

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Number is what can be added to.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Add adds delta to the value of k in one step on the server, and returns the
// sum. A missing entry counts as 0. The map needs values that are text: [WithCodec] or
// rueidisson.WithCodec with [codec.Text]. Integers have 64 bits. If N cannot hold the sum, Add
// returns [ErrInvalidArgument] and changes nothing. The entry keeps its times, unless the call
// or the handle gives others.
//
// Cost: one command, HINCRBY; for floats, narrow types and with [WithRequestIDs] one script
// call, with HINCRBYFLOAT for floats. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], since
// the request is sent once; [ErrDecode] if the value is no number; ctx's; [ErrClosed]; Redis'
// and the network's. Source: RMap.addAndGet.
func Add[K comparable, N Number](ctx context.Context, m Mapping[K, N], k K, delta N, opts ...PutOption) (N, error) {
	if at, is := m.(interface { // what is inside a map takes allocations
		add(context.Context, K, N, []PutOption) (N, error)
	}); is {
		return at.add(ctx, k, delta, opts)
	}
	return m.Inside().Add(ctx, k, delta, opts)
}

func (c *common[K, V]) add(ctx context.Context, k K, delta V, opts []PutOption) (sum V, err error) {
	l, err := c.m.lifetime(opts)
	var key string
	if err == nil {
		key, err = c.m.EncodeKey(ctx, k)
	}
	var by mapstore.Addend
	if err == nil {
		by, err = c.m.addend(delta)
	}
	var got mapstore.Value
	if err == nil {
		got, err = mapstore.Writing(ctx, c.m.Hub, func() (mapstore.Value, error) { return c.m.Store.Add(ctx, key, by, l) })
	}
	switch {
	case err != nil:
	case !got.There:
		err = fmt.Errorf("%w: the sum would be out of the range of %v", ErrInvalidArgument, reflect.TypeFor[V]())
	default:
		sum, _, err = c.m.Decode(key, got)
	}
	return sum, c.m.FailedAt("add to", key, err)
}

// addend returns delta as the server adds it.
func (m *handle[K, V]) addend(delta V) (by mapstore.Addend, err error) {
	if !codec.IsText(m.Codecs.Values) {
		return by, fmt.Errorf("%w: the server adds to numbers that are text, and this map writes %v otherwise: make it with rmap.WithCodec(codec.Text)", ErrInvalidArgument, reflect.TypeFor[V]())
	}
	v := reflect.ValueOf(delta)
	switch {
	case v.CanInt():
		by.Text = strconv.FormatInt(v.Int(), 10)
		if bits := v.Type().Bits(); bits < 64 {
			by.Least, by.Most = mapstore.Decimal(-1<<(bits-1)), mapstore.Decimal(1<<(bits-1)-1)
		}
	case v.CanUint():
		if v.Uint() > math.MaxInt64 {
			return by, fmt.Errorf("%w: %d is more than the server adds", ErrInvalidArgument, v.Uint())
		}
		by.Text, by.Least = strconv.FormatUint(v.Uint(), 10), "0"
		if bits := v.Type().Bits(); bits < 64 {
			by.Most = strconv.FormatUint(1<<bits-1, 10)
		}
	case v.CanFloat():
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return by, fmt.Errorf("%w: %v cannot be added", ErrInvalidArgument, v.Float())
		}
		most := math.MaxFloat64
		if v.Type().Bits() == 32 {
			most = math.Nextafter(0x1.ffffffp127, 0) // the last that is rounded to one of 32 bits
		}
		by.Text, by.Float = strconv.FormatFloat(v.Float(), 'f', -1, v.Type().Bits()), true
		by.Least, by.Most = strconv.FormatFloat(-most, 'g', 17, 64), strconv.FormatFloat(most, 'g', 17, 64)
	default:
		return by, fmt.Errorf("%w: %v is no number", ErrInvalidArgument, v.Type())
	}
	return by, nil
}
