package cookbook

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

type Product struct {
	Name  string
	Cents int64
}

// Database is the source of truth.
type Database interface {
	Product(ctx context.Context, id string) (p Product, found bool, err error)
	SetPrice(ctx context.Context, id string, cents int64) error
}

// productCache reads products through a cache: one process loads a missing product, the others wait for it.
func productCache(c *rueidisson.Client, db Database) *readthrough.Map[string, Product] {
	cache := rmap.NewCache[string, Product](c, "products", rmap.WithTTL(10*time.Minute))
	return readthrough.New(cache, db.Product,
		readthrough.WithTTLJitter(0.1),          // products that were loaded together expire apart
		readthrough.WithAbsentFor(time.Second),  // an id that does not exist is not looked up again and again
		readthrough.WithStaleOnError(time.Hour), // an outage of the database shows old products, not errors
	)
}

// setPrice writes to the database first, and then removes the cached product.
func setPrice(ctx context.Context, db Database, products *readthrough.Map[string, Product], id string, cents int64) error {
	if err := db.SetPrice(ctx, id, cents); err != nil {
		return err
	}
	_, err := products.Remove(ctx, id)
	return err
}

func Example_cacheAside() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	db := shop{"p1": {Name: "lamp", Cents: 4900}}
	products := productCache(c, db)
	fmt.Println(products.Get(ctx, "p1"))
	fmt.Println(products.Get(ctx, "p1"))
	check(setPrice(ctx, db, products, "p1", 3900))
	fmt.Println(products.Get(ctx, "p1"))
	// Output:
	// loads p1
	// {lamp 4900} true <nil>
	// {lamp 4900} true <nil>
	// loads p1
	// {lamp 3900} true <nil>
}

// shop is a Database in memory.
type shop map[string]Product

func (s shop) Product(_ context.Context, id string) (Product, bool, error) {
	fmt.Println("loads", id)
	p, found := s[id]
	return p, found, nil
}

func (s shop) SetPrice(_ context.Context, id string, cents int64) error {
	s[id] = Product{Name: s[id].Name, Cents: cents}
	return nil
}
