package guide

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rmap"
)

// Flags answers from the memory of the process. One lives as long as the program.
type Flags struct {
	near *rmap.Near[string, bool]
}

// openFlags makes a near cache. The server reports changes of the map, so no message of the writers is needed.
func openFlags(c *rueidisson.Client) *Flags {
	return &Flags{rmap.NewNear(rmap.New[string, bool](c, "flags"),
		rmap.WithMisses(time.Minute),        // keep also that a flag does not exist
		rmap.WithMaxSilence(2*time.Second))} // ask the server again if it was not heard for so long
}

// On reports whether a flag is set.
func (f *Flags) On(ctx context.Context, name string) (bool, error) {
	on, _, err := f.near.Get(ctx, name)
	return on, err
}

// Close ends the near cache.
func (f *Flags) Close() { f.near.Close() }

// profiles loads a missing profile by one call in the fleet. A failing source shows old profiles for an hour.
func profiles(c *rueidisson.Client, load func(ctx context.Context, id string) (name string, found bool, err error)) *rmap.Loading[string, string] {
	cache := rmap.NewCache[string, string](c, "profiles", rmap.WithTTL(10*time.Minute))
	return rmap.NewLoading(cache, load,
		rmap.WithTTLJitter(0.1),
		rmap.WithAbsentFor(5*time.Second),
		rmap.WithLoadBackoff(time.Second, time.Minute),
		rmap.WithStaleOnError(time.Hour))
}

// counters writes changes to a database in batches of at most 500, in the order of each key.
func counters(c *rueidisson.Client, save func(ctx context.Context, changes []rmap.Change[string, int64]) error) *rmap.Writing[string, int64] {
	return rmap.NewWriting(rmap.New[string, int64](c, "counters"), save,
		rmap.WithBehind(500),
		rmap.WithMaxBacklog(100_000),     // above it a change returns rmap.ErrBacklog
		rmap.WithMaxRetryTime(time.Hour)) // then a refused change is kept aside
}

func Example_nearCaches() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	check(rmap.New[string, bool](c, "flags").Put(ctx, "dark-mode", true))
	flags := openFlags(c)
	defer flags.Close()
	fmt.Println(flags.On(ctx, "dark-mode"))

	all := profiles(c, func(_ context.Context, id string) (string, bool, error) {
		fmt.Println("loads", id)
		return "Ann", true, nil
	})
	fmt.Println(all.Get(ctx, "7"))
	fmt.Println(all.Get(ctx, "7"))

	database := map[string]int64{}
	hits := counters(c, func(_ context.Context, changes []rmap.Change[string, int64]) error {
		for _, change := range changes {
			database[change.Key] = change.Value
		}
		return nil
	})
	check(hits.Put(ctx, "home", 41))
	check(hits.Put(ctx, "home", 42))
	check(hits.Close(ctx)) // waits until the database has everything
	fmt.Println(database["home"])
	// Output:
	// true <nil>
	// loads 7
	// Ann true <nil>
	// Ann true <nil>
	// 42
}
