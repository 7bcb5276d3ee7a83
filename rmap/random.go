package rmap

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// RandomKeys returns up to n different keys, from 1 to 5,000, which the server draws. Each shard of a [Sharded] gives
// its share by its size. Of a [Cache] expired keys are left out, so that there may be fewer than n of many.
//
// Cost: one command, and of a Cache a script call for each 500 keys; of a Sharded an HLEN and an HRANDFIELD for each
// shard. Errors: as Get. Source: RMap.randomKeys.
func (c *common[K, V]) RandomKeys(ctx context.Context, n int) ([]K, error) {
	if n < 1 || n > mapstore.MostInOne {
		return nil, c.m.Failed("draw from", fmt.Errorf("%w: %d keys: from 1 to %d", ErrInvalidArgument, n, mapstore.MostInOne))
	}
	err := c.m.Usable(ctx)
	var texts []string
	if err == nil {
		texts, err = mapstore.Reading(ctx, c.m.Hub, func() ([]string, error) { return c.m.Store.Random(ctx, n) })
	}
	if err != nil {
		return nil, c.m.Failed("draw from", err)
	}
	ks := make([]K, 0, len(texts))
	var undecoded []error
	for _, text := range texts {
		k, err := c.m.Codecs.DecodeKey(text)
		if err != nil {
			undecoded = append(undecoded, err)
			continue
		}
		ks = append(ks, k)
	}
	return ks, c.m.Failed("draw from", errors.Join(undecoded...))
}

// RandomEntries returns the entries of up to n keys that RandomKeys draws. A key
// that is removed in between is missing. It is no use of the entries of a [Cache].
//
// Cost: as RandomKeys and GetMany. Errors: as Get. Source: RMap.randomEntries.
func (c *common[K, V]) RandomEntries(ctx context.Context, n int) (map[K]V, error) {
	ks, err := c.RandomKeys(ctx, n)
	if err != nil {
		return nil, err
	}
	return c.GetMany(ctx, ks...)
}
