package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	jobsBucket = "decodesim_jobs"
	consumer   = "workers"

	// Lease is how long a run is a worker's after it was last heard of. A worker is heard of three times as often.
	Lease = 30 * time.Second

	// deliveriesMax is how often a run is given to a worker. One that has ended so many of them ends the next as well.
	deliveriesMax = 10

	// window is how many runs are in the queue at once, so that neither it nor the coordinator grows with the job.
	window = 1024
)

// Queue is a connection to the server of a queue.
type Queue struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	lease    time.Duration
	replicas int
}

// Own returns the queue of an embedded server.
func (s *Server) Own() (*Queue, error) {
	c, err := s.connect("coordinator")
	if err != nil {
		return nil, err
	}
	return newQueue(c, 1)
}

// Open returns the queue of a cluster, in which each stream has so many copies.
func (a *Address) Open(replicas int) (*Queue, error) {
	c, err := a.connect("coordinator", false)
	if err != nil {
		return nil, err
	}
	return newQueue(c, replicas)
}

func newQueue(c *nats.Conn, replicas int) (*Queue, error) {
	js, err := jetstream.New(c)
	if err != nil {
		return nil, err
	}
	return &Queue{conn: c, js: js, lease: Lease, replicas: replicas}, nil
}

// Close closes the connection.
func (q *Queue) Close() { q.conn.Close() }

// streamOf names the stream of the runs of a job, and its buckets.
func streamOf(id string) string { return "decodesim_" + id }

func subjectOf(id string, run int) string { return "decodesim." + id + "." + strconv.Itoa(run) }

// runOf returns the number at the end of a subject or in a key.
func runOf(name string) (int, error) {
	run, err := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
	if err != nil || run < 0 {
		return 0, fmt.Errorf("%q is no run", name)
	}
	return run, nil
}

// places are where a job is in a queue.
type places struct {
	jobs    jetstream.KeyValue
	results jetstream.KeyValue
	objects jetstream.ObjectStore // the files of the job, and results that are too long for a message
	runs    jetstream.Stream
}

// create makes the streams of a job, or finds those that a coordinator before has made.
func (q *Queue) create(ctx context.Context, j *Job) (p places, err error) {
	name := streamOf(j.ID)
	p.jobs, err = q.bucket(ctx, jobsBucket)
	if err != nil {
		return p, err
	}
	p.results, err = q.bucket(ctx, name)
	if err != nil {
		return p, err
	}
	p.objects, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Replicas: q.replicas})
	if err != nil {
		return p, err
	}
	p.runs, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{"decodesim." + j.ID + ".*"}, Storage: jetstream.FileStorage, Replicas: q.replicas,
		Retention: jetstream.WorkQueuePolicy, // a run that is acknowledged is gone
		// A run that is in the queue is not put into it again.
		Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1, DiscardNewPerSubject: true,
	})
	if err != nil {
		return p, err
	}
	_, err = p.runs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.lease, MaxDeliver: -1,
		MaxAckPending: window, MaxWaiting: 10_000,
	})
	return p, err
}

// bucket makes a bucket unless it is there.
func (q *Queue) bucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	return q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, Replicas: q.replicas})
}

// find returns the places of a job that a coordinator has made.
func (q *Queue) find(ctx context.Context, id string) (p places, err error) {
	name := streamOf(id)
	p.results, err = q.js.KeyValue(ctx, name)
	if err != nil {
		return p, err
	}
	p.objects, err = q.js.ObjectStore(ctx, name)
	if err != nil {
		return p, err
	}
	p.runs, err = q.js.Stream(ctx, name)
	return p, err
}

// remove removes a job that has ended.
func (q *Queue) remove(ctx context.Context, j *Job, p places) error {
	name := streamOf(j.ID)
	err := errors.Join(p.jobs.Delete(ctx, j.ID), q.js.DeleteStream(ctx, name), q.js.DeleteKeyValue(ctx, name),
		q.js.DeleteObjectStore(ctx, name))
	return err
}

// announce lets workers find a job, whose files are in the queue by then.
func (p *places) announce(ctx context.Context, j *Job) error {
	if err := j.upload(ctx, p.objects); err != nil {
		return err
	}
	text, err := json.Marshal(j)
	if err == nil {
		_, err = p.jobs.Put(ctx, j.ID, text)
	}
	return err
}
