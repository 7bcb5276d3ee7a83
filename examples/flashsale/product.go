package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// product is one hash in Redis: the field stock, and a field for each buyer who
// got a piece. Both are written by one command, so that no crash can come between
// the sale and its record.
type product struct {
	redis rueidis.Client
	key   string
}

const stockField = "stock"

// buyerField names a buyer of a process.
func buyerField(process, buyer int) string { return fmt.Sprintf("%d/%d", process, buyer) }

func connect(url string) (rueidis.Client, error) {
	option, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return rueidis.NewClient(option)
}

func (p product) offer(ctx context.Context, stock int) error {
	return p.redis.Do(ctx, p.redis.B().Hset().Key(p.key).FieldValue().
		FieldValue(stockField, strconv.Itoa(stock)).Build()).Error()
}

func (p product) left(ctx context.Context) (int, error) {
	n, err := p.redis.Do(ctx, p.redis.B().Hget().Key(p.key).Field(stockField).Build()).AsInt64()
	return int(n), err
}

// sell writes the stock back and records the buyer.
func (p product) sell(ctx context.Context, left int, buyer string) error {
	n := strconv.Itoa(left)
	return p.redis.Do(ctx, p.redis.B().Hset().Key(p.key).FieldValue().
		FieldValue(stockField, n).FieldValue(buyer, n).Build()).Error()
}

// record counts pieces that were sold elsewhere.
func (p product) record(ctx context.Context, buyer string) error {
	return p.redis.Do(ctx, p.redis.B().Hset().Key(p.key).FieldValue().FieldValue(buyer, "0").Build()).Error()
}

// books is what Redis says about the sale.
type books struct {
	left int
	sold map[int]int // by process
}

func (b books) total() (n int) {
	for _, sold := range b.sold {
		n += sold
	}
	return n
}

func (p product) books(ctx context.Context) (books, error) {
	fields, err := p.redis.Do(ctx, p.redis.B().Hgetall().Key(p.key).Build()).AsIntMap()
	if err != nil {
		return books{}, err
	}
	b := books{left: int(fields[stockField]), sold: map[int]int{}}
	delete(fields, stockField)
	for field := range fields {
		process, _, _ := strings.Cut(field, "/")
		n, err := strconv.Atoi(process)
		if err != nil {
			return books{}, fmt.Errorf("field %q of %s: %w", field, p.key, err)
		}
		b.sold[n]++
	}
	return b, nil
}

func (p product) remove(ctx context.Context) error {
	return p.redis.Do(ctx, p.redis.B().Del().Key(p.key).Build()).Error()
}
