package guide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bitset"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/keyspace"
	"github.com/rueidisson/rueidisson/list"
)

// Offer is what a product costs, and how many are left.
type Offer struct {
	Cents int
	Left  int
}

// offer returns the offer of a product.
func offer(c *rueidisson.Client, product string) *bucket.Bucket[Offer] {
	return bucket.New[Offer](c, "offer:"+product)
}

// sell takes one piece, if there is one. No piece is sold twice, however many processes sell.
func sell(ctx context.Context, c *rueidisson.Client, product string) (left int, sold bool, err error) {
	now, _, err := offer(c, product).Update(ctx, func(old Offer, _ bool) (Offer, bucket.Verdict, error) {
		if sold = old.Left > 0; !sold { // it may be called again: it decides anew each time
			return old, bucket.Keep, nil
		}
		old.Left--
		return old, bucket.Store, nil
	})
	return now.Left, sold && err == nil, err
}

// offers returns those of the products that have one.
func offers(ctx context.Context, c *rueidisson.Client, products ...string) (map[string]Offer, error) {
	names := make([]string, len(products))
	for i, product := range products {
		names[i] = "offer:" + product
	}
	return bucket.NewMany[Offer](c).Get(ctx, names...)
}

// begin reports whether this process is the first one to begin a day's report. Nobody begins it again for a day.
func begin(ctx context.Context, c *rueidisson.Client, day, process string) (bool, error) {
	return bucket.New[string](c, "report:"+day).SetIfAbsent(ctx, process, bucket.WithTTL(24*time.Hour))
}

// save appends what r has to a file that the fleet shares, and returns how long it is then.
func save(ctx context.Context, c *rueidisson.Client, name string, r io.Reader) (int64, error) {
	file := bucket.NewBytes(c, "file:"+name)
	if _, err := io.Copy(file.Writer(ctx), r); err != nil {
		return 0, err
	}
	return file.Size(ctx)
}

// tail returns the last n bytes of that file.
func tail(ctx context.Context, c *rueidisson.Client, name string, n int64) (string, error) {
	r := bucket.NewBytes(c, "file:"+name).Reader(ctx)
	if _, err := r.Seek(-n, io.SeekEnd); err != nil {
		return "", err
	}
	all, err := io.ReadAll(r)
	return string(all), err
}

// Product is a document: its parts are read and written without the rest.
type Product struct {
	Name  string   `json:"name"`
	Stock int64    `json:"stock"`
	Tags  []string `json:"tags"`
}

// product returns the document of a product.
func product(c *rueidisson.Client, id string) *bucket.JSON[Product] {
	return bucket.NewJSON[Product](c, "product:"+id)
}

// deliver adds pieces to the stock of a product, and returns how many there are then. False: there is no such product.
func deliver(ctx context.Context, c *rueidisson.Client, id string, pieces int64) (int64, bool, error) {
	return bucket.NumberAt[int64](product(c, id), "$.stock").Add(ctx, pieces)
}

// tag adds a tag to a product, unless it has it.
func tag(ctx context.Context, c *rueidisson.Client, id, name string) error {
	tags := bucket.ArrayAt[string](product(c, id), "$.tags")
	_, has, err := tags.Index(ctx, name)
	if err == nil && !has {
		_, _, err = tags.Append(ctx, name)
	}
	return err
}

// rename gives a product another name, if it still has the old one.
func rename(ctx context.Context, c *rueidisson.Client, id, from, to string) (bool, error) {
	return bucket.At[string](product(c, id), "$.name").CompareAndSwap(ctx, from, to)
}

// playlist is the songs of a user, in their order.
func playlist(c *rueidisson.Client, user string) *list.List[string] {
	return list.New[string](c, "playlist:"+user)
}

// playNext puts a song after the first one, which is playing.
func playNext(ctx context.Context, c *rueidisson.Client, user, song string) error {
	did, err := playlist(c, user).Insert(ctx, 1, song)
	if err == nil && !did { // nothing is playing
		_, err = playlist(c, user).Append(ctx, song)
	}
	return err
}

// note keeps the newest n lines of a history, the newest first.
func note(ctx context.Context, c *rueidisson.Client, name, line string, n int64) error {
	history := list.New[string](c, "history:"+name)
	if _, err := history.Prepend(ctx, line); err != nil {
		return err
	}
	return history.Trim(ctx, 0, n-1)
}

// visitors are those of a day: a bit for each user's number. All days are in one slot of a cluster.
func visitors(c *rueidisson.Client, day string) *bitset.Set { return bitset.New(c, "{visitors}:"+day) }

// visited notes that a user visited, and reports whether it was the first time on that day.
func visited(ctx context.Context, c *rueidisson.Client, day string, user int64) (first bool, err error) {
	was, err := visitors(c, day).Set(ctx, user)
	return err == nil && !was[0], err
}

// cameBack counts those who visited on all of the days.
func cameBack(ctx context.Context, c *rueidisson.Client, days ...string) (int64, error) {
	all := bitset.New(c, "{visitors}:back")
	if _, err := all.Delete(ctx); err != nil {
		return 0, err
	}
	if _, err := visitors(c, days[0]).Copy(ctx, all.Name()); err != nil {
		return 0, err
	}
	for _, day := range days[1:] {
		if err := all.And(ctx, visitors(c, day).Name()); err != nil {
			return 0, err
		}
	}
	return all.Count(ctx)
}

// raise adds to the level of a player, which has eight bits.
func raise(ctx context.Context, c *rueidisson.Client, player, by int64) (int64, error) {
	return bitset.New(c, "levels").Uint(8, 8*player).Add(ctx, by)
}

// Example_documents runs on a server without the module.
func Example_documents() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	_, _, delivered := deliver(ctx, c, "tea", 7)
	_, renamed := rename(ctx, c, "tea", "tea", "green tea")
	for _, err := range []error{product(c, "tea").Set(ctx, Product{Name: "tea"}), delivered, tag(ctx, c, "tea", "new"), renamed} {
		fmt.Println(errors.Is(err, errors.ErrUnsupported))
	}
	// Output:
	// true
	// true
	// true
	// true
}

func Example_buckets() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	check(offer(c, "tea").Set(ctx, Offer{Cents: 350, Left: 1}))
	fmt.Println(sell(ctx, c, "tea"))
	fmt.Println(sell(ctx, c, "tea"))
	fmt.Println(offers(ctx, c, "tea", "coffee"))
	fmt.Println(begin(ctx, c, "monday", "a"))
	fmt.Println(begin(ctx, c, "monday", "b"))
	// Output:
	// 0 true <nil>
	// 0 false <nil>
	// map[offer:tea:{350 0}] <nil>
	// true <nil>
	// false <nil>
}

func Example_bytes() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	fmt.Println(save(ctx, c, "log", strings.NewReader("first line\n")))
	fmt.Println(save(ctx, c, "log", strings.NewReader("last line\n")))
	fmt.Println(tail(ctx, c, "log", 5))
	_, err := tail(ctx, c, "log", 500)
	fmt.Println(err)
	// Output:
	// 11 <nil>
	// 21 <nil>
	// line
	//  <nil>
	// seek in bytes "file:log": invalid argument: offset -500 from 21
}

func Example_bits() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	fmt.Println(visited(ctx, c, "monday", 3))
	fmt.Println(visited(ctx, c, "monday", 5))
	fmt.Println(visited(ctx, c, "monday", 5))
	fmt.Println(visited(ctx, c, "tuesday", 5))
	fmt.Println(cameBack(ctx, c, "monday", "tuesday"))
	fmt.Println(raise(ctx, c, 7, 2))
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
	// true <nil>
	// 1 <nil>
	// 2 <nil>
}

func Example_lists() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	songs := playlist(c, "ann")
	_, err := songs.Append(ctx, "a", "b")
	check(err)
	check(playNext(ctx, c, "ann", "c"))
	fmt.Println(songs.Range(ctx, 0, -1))
	fmt.Println(songs.RemoveAt(ctx, 2))
	for _, line := range []string{"first", "second", "third"} {
		check(note(ctx, c, "ann", line, 2))
	}
	fmt.Println(list.New[string](c, "history:ann").Range(ctx, 0, -1))
	// Output:
	// [a c b] <nil>
	// b true <nil>
	// [third second] <nil>
}

// sessionsOf returns the names of the sessions of a day, each once.
func sessionsOf(ctx context.Context, c *rueidisson.Client, day string) ([]string, error) {
	var names []string
	for name, err := range keyspace.New(c).All(ctx, keyspace.WithMatch("session:"+day+":*"), keyspace.WithType(keyspace.String)) {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil // a walk may tell a name twice
}

// forget deletes the sessions of a day. It works for half of the time, and leaves the other half to others.
func forget(ctx context.Context, c *rueidisson.Client, day string) (int64, error) {
	return keyspace.New(c).DeleteMatch(ctx, "session:"+day+":*", keyspace.WithPace(0.5))
}

func Example_keys() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	for _, name := range []string{"mon:ada", "mon:bob", "tue:ada"} {
		check(bucket.New[string](c, "session:"+name).Set(ctx, "open"))
	}
	fmt.Println(sessionsOf(ctx, c, "mon"))
	fmt.Println(forget(ctx, c, "mon"))
	_, err := keyspace.New(c).DeleteMatch(ctx, "*")
	fmt.Println(err)
	// Output:
	// [session:mon:ada session:mon:bob] <nil>
	// 2 <nil>
	// delete keys "*": invalid argument: it matches every name: WithEverything permits that
}
