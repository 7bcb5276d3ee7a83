package bench

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/keyspace"
)

// keyRows: half of the keys of a server match.
var keyRows = []row{
	{"keys, DeleteMatch of half of 500,000, by SCAN of 1,000 and UNLINK", "ms", goal{atMost: 1.1}, deletions},
}

const manyKeys = 500_000

func deletions(t *testing.T, s *redistest.Server) sides {
	c := s.Client(t)
	ours, err := rueidisson.Wrap(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close(context.Background()) })
	timed := func(remove func(ctx context.Context) (int64, error)) measure {
		return func(time.Duration) (float64, error) {
			ctx := context.Background()
			if err := fillKeys(ctx, c); err != nil {
				return 0, err
			}
			began := time.Now()
			n, err := remove(ctx)
			took := time.Since(began)
			if err == nil && n != manyKeys/2 {
				err = fmt.Errorf("%d keys were deleted", n)
			}
			return float64(took.Microseconds()) / 1000, err
		}
	}
	return sides{
		ours: timed(func(ctx context.Context) (int64, error) { return keyspace.New(ours).DeleteMatch(ctx, "delete:0:*") }),
		base: timed(func(ctx context.Context) (int64, error) { return deleteBare(ctx, c) }),
		long: true,
	}
}

// fillKeys makes those of the keys that are not there.
func fillKeys(ctx context.Context, c rueidis.Client) error {
	for from := 0; from < manyKeys; from += 1000 {
		set := c.B().Mset().KeyValue()
		for i := from; i < from+1000; i++ {
			set = set.KeyValue("delete:"+strconv.Itoa(i%2)+":"+strconv.Itoa(i), "v")
		}
		if err := c.Do(ctx, set.Build()).Error(); err != nil {
			return err
		}
	}
	return nil
}

func deleteBare(ctx context.Context, c rueidis.Client) (n int64, err error) {
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, err := c.Do(ctx, c.B().Scan().Cursor(cursor).Match("delete:0:*").Count(1000).Build()).AsScanEntry()
		if err != nil {
			return n, err
		}
		if cursor = page.Cursor; len(page.Elements) == 0 {
			continue
		}
		some, err := c.Do(ctx, c.B().Unlink().Key(page.Elements...).Build()).AsInt64()
		if n += some; err != nil {
			return n, err
		}
	}
	return n, nil
}
