package guide

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/stream"
	"github.com/rueidisson/rueidisson/topic"
)

// record adds a payment to the log. About the last million entries are kept.
func record(ctx context.Context, c *rueidisson.Client, order string, cents int) error {
	_, err := stream.New[string, string](c, "payments").Add(ctx,
		map[string]string{"order": order, "cents": fmt.Sprint(cents)}, stream.WithMaxLength(1_000_000))
	return err
}

// consume gives each payment to one consumer of a group. A payment whose consumer died is given to another one.
func consume(ctx context.Context, c *rueidisson.Client, group, consumer string, handle func(order, cents string) error) error {
	g := stream.New[string, string](c, "payments").Group(group)
	if _, err := g.Create(ctx, stream.FromStart); err != nil {
		return err
	}
	for m, err := range g.Messages(ctx, consumer, stream.WithMaxAttempts(5)) {
		switch {
		case errors.Is(err, stream.ErrDecode): // m has an id and no value
			err = m.Bury(ctx, err)
		case errors.Is(err, rueidisson.ErrNotice):
			log.Print(err)
			continue
		case err != nil:
			return err // the sequence has ended
		default:
			if err = handle(m.Fields["order"], m.Fields["cents"]); err != nil {
				err = m.Nack(ctx, err)
			} else {
				err = m.Ack(ctx)
			}
		}
		if err != nil {
			log.Print(err) // the payment is redelivered
		}
	}
	return nil
}

// watch shows prices until ctx ends. After an interruption it reads all of them again.
func watch(ctx context.Context, c *rueidisson.Client, subscribed func(), show func(price string), readAll func()) error {
	s, err := topic.New[string](c, "prices").Listen(ctx) // from here on each message arrives
	if err != nil {
		return err
	}
	defer s.Close()
	subscribed()
	var lagged *topic.LaggedError
	for price, err := range s.Messages(ctx) {
		switch {
		case errors.As(err, &lagged), errors.Is(err, topic.ErrInterrupted): // messages were missed
			readAll()
		case errors.Is(err, rueidisson.ErrNotice):
			log.Print(err)
		case err != nil:
			return err
		default:
			show(price)
		}
	}
	return nil
}

// orders is a topic that keeps its messages until every subscriber has handled them, about a million at most.
func orders(c *rueidisson.Client) *topic.Reliable[string] {
	return topic.NewReliable[string](c, "orders", topic.WithMaxLength(1_000_000))
}

// invoice handles every order, also those that were published while no process of this name ran.
func invoice(ctx context.Context, c *rueidisson.Client, handle func(order string)) error {
	for order, err := range orders(c).Durable("billing").Subscribe(ctx) {
		switch {
		case errors.Is(err, rueidisson.ErrNotice):
			log.Print(err)
		case err != nil:
			return err
		default:
			handle(order) // it is acknowledged when the loop continues
		}
	}
	return nil
}

func Example_streamsAndTopics() {
	c, other, stop := connectTwo()
	defer stop()
	ctx := context.Background()

	check(record(ctx, c, "42", 990))
	consuming, end := context.WithCancel(ctx)
	err := consume(consuming, c, "billing", "worker-1", func(order, cents string) error {
		fmt.Println("payment", order, cents)
		end()
		return nil
	})
	fmt.Println(errors.Is(err, context.Canceled))

	watching, end := context.WithCancel(ctx)
	publish := func() {
		_, err := topic.New[string](other, "prices").Publish(ctx, "tea 300")
		check(err)
	}
	err = watch(watching, c, publish, func(price string) {
		fmt.Println(price)
		end()
	}, func() {})
	fmt.Println(errors.Is(err, context.Canceled))

	s, err := orders(other).Durable("billing").Listen(ctx) // the name is known from here on
	check(err)
	s.Close()
	_, err = orders(other).Publish(ctx, "42")
	check(err)
	invoicing, end := context.WithCancel(ctx)
	err = invoice(invoicing, c, func(order string) {
		fmt.Println("invoice for", order)
		end()
	})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// payment 42 990
	// true
	// tea 300
	// true
	// invoice for 42
	// true
}
