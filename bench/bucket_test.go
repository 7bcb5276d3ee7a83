package bench

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/codec"
)

// bucketRows: values of 64 bytes as text.
var bucketRows = []row{
	{"bucket, Get, 1 goroutine, by GET", "us/call", goal{atMost: 1.05}, besideScript("bucket get", "get", 1, microseconds)},
	{"bucket, Set, 1 goroutine, by SET", "us/call", goal{atMost: 1.05}, besideScript("bucket set", "set", 1, microseconds)},
	{"bucket, Get of one bucket, 64 goroutines, by GET", "calls/s", goal{}, besideScript("bucket get", "get", 64, asIs)},
	{"bucket, Get of one bucket, 64 goroutines, CPU of the server", "us/call", goal{}, mapCPU("bucket get", "get", 64)},
	{"bucket, Set, 64 goroutines, by SET", "calls/s", goal{}, besideScript("bucket set", "set", 64, asIs)},
	{"bucket, Update of one bucket, 1 goroutine, by a CAS loop", "us/call", goal{}, besideScript("update", "bucket cas loop", 1, microseconds)},
	{"bucket, Update of one bucket, 64 goroutines, by a CAS loop", "calls/s", goal{}, besideScript("update", "bucket cas loop", 64, asIs)},
}

func init() {
	ours := func(of func(b *bucket.Bucket[string]) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
			return bucketImpl{c, of}, err
		}
	}
	bare := func(of func(c rueidis.Client, name string) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidis.NewClient(connection(addr))
			return bareBucket{c, of}, err
		}
	}
	impls["bucket get"] = ours(func(b *bucket.Bucket[string]) call {
		return func(ctx context.Context, _ int) error { _, _, err := b.Get(ctx); return err }
	})
	impls["bucket set"] = ours(func(b *bucket.Bucket[string]) call {
		return func(ctx context.Context, _ int) error { return b.Set(ctx, text64) }
	})
	impls["update"] = ours(func(b *bucket.Bucket[string]) call {
		return func(ctx context.Context, _ int) error {
			_, _, err := b.Update(ctx, func(old string, _ bool) (string, bucket.Verdict, error) {
				n, _ := strconv.Atoi(old)
				return strconv.Itoa(n + 1), bucket.Store, nil
			})
			return err
		}
	})
	impls["get"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, _ int) error {
			_, err := c.Do(ctx, c.B().Get().Key(name).Build()).ToString()
			return err
		}
	})
	impls["set"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, _ int) error {
			return c.Do(ctx, c.B().Set().Key(name).Value(text64).Build()).Error()
		}
	})
	impls["bucket cas loop"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, _ int) error {
			for {
				old, err := c.Do(ctx, c.B().Get().Key(name).Build()).ToString()
				if err != nil {
					return err
				}
				n, _ := strconv.Atoi(old)
				did, err := casBucket.Exec(ctx, c, []string{name}, []string{old, strconv.Itoa(n + 1)}).AsInt64()
				if err != nil || did == 1 {
					return err
				}
			}
		}
	})
}

// KEYS[1] string; ARGV[1] what was read; ARGV[2] what is written. Returns 1 written, 0 somebody was faster.
var casBucket = rueidis.NewLuaScript(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call('set', KEYS[1], ARGV[2])
return 1`)

type bucketImpl struct {
	c  *rueidisson.Client
	of func(b *bucket.Bucket[string]) call
}

func (i bucketImpl) locker(name string) locker {
	b := bucket.New[string](i.c, "bucket:"+name)
	if err := b.Set(context.Background(), text64); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return i.of(b).locker()
}

func (i bucketImpl) close() { _ = i.c.Close(context.Background()) }

type bareBucket struct {
	c  rueidis.Client
	of func(c rueidis.Client, name string) call
}

func (i bareBucket) locker(name string) locker {
	name = "bare-bucket:" + name
	if err := i.c.Do(context.Background(), i.c.B().Set().Key(name).Value(text64).Build()).Error(); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return i.of(i.c, name).locker()
}

func (i bareBucket) close() { i.c.Close() }
