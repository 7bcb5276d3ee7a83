package rueidisson.interop;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;

/** Java threads by name. One that was made stays, so its Redisson owner stays the same. */
final class Threads {
    private final ConcurrentHashMap<String, Worker> workers = new ConcurrentHashMap<>();

    void run(String name, Runnable task) {
        worker(name).tasks.add(task);
    }

    long id(String name) {
        return worker(name).getId();
    }

    /** Interrupts what the thread is doing; false if it is idle. */
    boolean interrupt(String name) {
        return worker(name).interruptTask();
    }

    private Worker worker(String name) {
        return workers.computeIfAbsent(name, Worker::started);
    }

    private static final class Worker extends Thread {
        final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
        private boolean busy;

        static Worker started(String name) {
            Worker worker = new Worker(name);
            worker.start();
            return worker;
        }

        private Worker(String name) {
            super(name);
            setDaemon(true); // a thread that waits for a lock must not keep the program alive
        }

        @Override
        public void run() {
            while (true) {
                Runnable task;
                try {
                    task = tasks.take();
                } catch (InterruptedException e) {
                    continue;
                }
                setBusy(true);
                try {
                    task.run();
                } finally {
                    setBusy(false);
                }
            }
        }

        private synchronized void setBusy(boolean now) {
            busy = now;
            interrupted(); // one that came too late for the last task must not meet the next
        }

        synchronized boolean interruptTask() {
            if (busy) {
                interrupt();
            }
            return busy;
        }
    }
}
