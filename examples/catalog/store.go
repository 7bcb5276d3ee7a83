package main

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// products is how many there are on the page.
const products = 12

// price is what a product costs, and which of its prices that is.
type price struct{ Cents, Version int }

// store is what the prices come from, by HTTP, and slowly.
type store struct {
	slow   time.Duration
	server *http.Server
	url    string

	mu     sync.Mutex
	prices [products]price
	loads  [products]int
	by     []int // which process has loaded how often
}

func openStore(slow time.Duration, pages int) (*store, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &store{slow: slow, url: "http://" + l.Addr().String(), by: make([]int, pages)}
	for i := range s.prices {
		s.prices[i].Cents = 100 * (i + 1)
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // ends with close
	return s, nil
}

func (s *store) close() { _ = s.server.Close() }

// ServeHTTP answers /?product=3&page=1.
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	product, err := strconv.Atoi(r.FormValue("product"))
	page, err2 := strconv.Atoi(r.FormValue("page"))
	if err != nil || err2 != nil || product < 0 || product >= products || page < 0 || page >= len(s.by) {
		http.Error(w, "no such product", http.StatusNotFound)
		return
	}
	now := s.load(product, page)
	time.Sleep(s.slow) // what it answers was right when it was asked
	_ = json.NewEncoder(w).Encode(now)
}

func (s *store) load(product, page int) price {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads[product]++
	s.by[page]++
	return s.prices[product]
}

// change gives a product another price.
func (s *store) change(product, cents int) price {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prices[product] = price{cents, s.prices[product].Version + 1}
	return s.prices[product]
}

// loaded returns how often processes and products were.
func (s *store) loaded() (by []int, each [products]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(by, s.by...), s.loads
}
