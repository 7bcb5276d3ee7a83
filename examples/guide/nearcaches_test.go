package guide

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// Flags answers from the memory of the process. One lives as long as the program.
type Flags struct {
	near *nearcache.Cache[string, bool]
}

// openFlags makes a near cache. The server reports changes of the map, so no message of the writers is needed.
func openFlags(c *rueidisson.Client) *Flags {
	return &Flags{nearcache.New(rmap.New[string, bool](c, "flags"),
		nearcache.WithMisses(time.Minute),        // keep also that a flag does not exist
		nearcache.WithMaxSilence(2*time.Second))} // ask the server again if it was not heard for so long
}

// On reports whether a flag is set.
func (f *Flags) On(ctx context.Context, name string) (bool, error) {
	on, _, err := f.near.Get(ctx, name)
	return on, err
}

// Close ends the near cache.
func (f *Flags) Close() { f.near.Close() }

// profiles loads a missing profile by one call in the fleet. A failing source shows old profiles for an hour.
func profiles(c *rueidisson.Client, load func(ctx context.Context, id string) (name string, found bool, err error)) *readthrough.Map[string, string] {
	cache := rmap.NewCache[string, string](c, "profiles", rmap.WithTTL(10*time.Minute))
	return readthrough.New(cache, load,
		readthrough.WithTTLJitter(0.1),
		readthrough.WithAbsentFor(5*time.Second),
		readthrough.WithLoadBackoff(time.Second, time.Minute),
		readthrough.WithStaleOnError(time.Hour))
}

// counters writes changes to a database in batches of at most 500, in the order of each key.
func counters(c *rueidisson.Client, save func(ctx context.Context, changes []writethrough.Change[string, int64]) error) *writethrough.Map[string, int64] {
	return writethrough.New(rmap.New[string, int64](c, "counters"), save,
		writethrough.WithBehind(500),
		writethrough.WithMaxBacklog(100_000),     // above it a change returns writethrough.ErrBacklog
		writethrough.WithMaxRetryTime(time.Hour)) // then a refused change is kept aside
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
	hits := counters(c, func(_ context.Context, changes []writethrough.Change[string, int64]) error {
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
